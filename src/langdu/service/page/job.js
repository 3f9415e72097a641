// One job as it is made: progress, and each chunk with its waveform and verdict.
import { $, ask, attempt, element, t } from './studio.js'

let source = null
let job = null
let items = new Map()
let version = 0
const context = () => new OfflineAudioContext(1, 1, 24000)
const sound = new Audio()
// A long book has thousands of chunks: a waveform is fetched and drawn when its row comes into sight.
const seen = new IntersectionObserver((rows) => {
  for (const { isIntersecting, target } of rows) {
    if (!isIntersecting) continue
    seen.unobserve(target)
    draw(target, target.dataset.url).catch(() => {})
  }
}, { rootMargin: '300px' })

document.addEventListener('translated', () => { if (job) { [...items.values()].forEach((item) => show(job.id, item)); state(job) } })

export function follow(id) {
  source?.close()
  items = new Map()
  job = null
  $('chunks').replaceChildren()
  $('job').hidden = false
  $('job-result').hidden = true
  listen(id)
  $('job').scrollIntoView({ behavior: 'smooth', block: 'nearest' })
}

function listen(id) {
  source = new EventSource(`/v1/jobs/${id}/events`)
  source.addEventListener('chunk', (event) => show(id, JSON.parse(event.data)))
  source.addEventListener('job', (event) => state(JSON.parse(event.data).job))
}

function state(found) {
  job = found
  const ended = !['queued', 'running'].includes(job.state)
  if (ended) source.close()
  $('job-title').textContent = job.title
  $('job-state').textContent = t(`state.${job.state}`)
  $('job-state').className = `badge ${job.state}`
  $('job-progress').max = job.chunks
  $('job-progress').value = job.made
  const seconds = ended && job.audio_seconds ? job.audio_seconds : [...items.values()].reduce((sum, item) => sum + item.audio_seconds, 0)
  const left = job.left_s ? ` · ${t('job.left', clock(job.left_s))}` : ''
  $('job-line').textContent = t('job.made', job.made, job.chunks, clock(seconds)) + left
  $('job-problem').textContent = [job.error, ...job.problems].filter(Boolean).join(' ')
  $('job-stop').hidden = ended
  const made = ['done', 'faulty'].includes(job.state)
  $('job-result').hidden = !made
  if (made) {
    const url = `/v1/jobs/${job.id}/audio?v=${++version}`
    $('player').src = url
    $('download').href = url
    for (const kind of ['srt', 'vtt', 'report']) $(`get-${kind}`).href = `/v1/jobs/${job.id}/${kind}`
  }
}

function show(id, item) {
  items.set(item.index, item)
  const doubtful = ['fault', 'inconclusive'].includes(item.verdict)
  const accepted = item.accepted && doubtful
  const badge = element('span', { class: `badge ${accepted ? 'pass' : item.verdict}` }, accepted ? t('job.accepted') : t(`verdict.${item.verdict}`))
  const made = item.audio_seconds > 0
  const url = `/v1/jobs/${id}/chunks/${item.index}/audio?a=${item.attempt}`
  const play = () => { sound.src = url; sound.play() }
  const wave = element('canvas', { width: 352, height: 76, role: 'img', 'data-url': url, 'aria-label': `${item.audio_seconds.toFixed(1)} s`, onclick: play })
  const words = element('div', {}, element('span', { lang: item.language }, item.text))
  if (doubtful) words.append(element('div', { class: 'heard' }, `${t('job.heard')}: ${item.heard || '—'}`))
  for (const fault of item.faults) words.append(element('div', { class: 'heard' }, fault))
  const act = (what) => () => attempt($('job-problem'), async () => {
    await ask(`/v1/jobs/${id}/chunks/${item.index}/${what}`, { method: 'POST' })
    source.close()
    listen(id)
  })
  const buttons = element('div', { class: 'buttons' }, badge)
  if (made) {
    buttons.append(
      element('button', { onclick: play, 'aria-label': `${t('job.play')} ${item.name}` }, '▶'),
      element('button', { onclick: act('redo'), 'aria-label': `${t('job.redo')} ${item.name}` }, t('job.redo')))
  }
  if (doubtful && !item.accepted) buttons.append(element('button', { onclick: act('accept'), 'aria-label': `${t('job.accept')} ${item.name}` }, t('job.accept')))
  const row = element('li', { 'data-index': item.index, 'data-verdict': item.verdict }, element('span', { class: 'name' }, item.name), words, made ? wave : '', buttons)
  const old = $('chunks').children[item.index]  // they come in order, all of them first
  if (old) old.replaceWith(row)
  else $('chunks').append(row)
  if (made) seen.observe(wave)
}

/** Seconds as people read them. */
export const clock = (seconds) => seconds < 60 ? `${seconds.toFixed(1)} s` : [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(Math.floor).filter((part, at) => at || part).map((part, at) => at ? String(part).padStart(2, '0') : part).join(':')

export function setUpJob() {
  $('job-stop').addEventListener('click', () => attempt($('job-problem'), () => ask(`/v1/jobs/${job.id}/cancel`, { method: 'POST' })))
}

async function draw(canvas, url) {
  const buffer = await context().decodeAudioData(await (await ask(url)).arrayBuffer())
  const samples = buffer.getChannelData(0)
  const pen = canvas.getContext('2d')
  pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--main')
  const bars = canvas.width / 4
  const step = samples.length / bars
  for (let bar = 0; bar < bars; bar++) {
    let peak = 0
    for (let at = Math.floor(bar * step); at < (bar + 1) * step && at < samples.length; at++) peak = Math.max(peak, Math.abs(samples[at]))
    const height = Math.max(2, peak * canvas.height)
    pen.fillRect(bar * 4, (canvas.height - height) / 2, 2.6, height)
  }
}
