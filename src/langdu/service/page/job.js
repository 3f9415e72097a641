// One job as it is made: progress, and each chunk with its waveform and verdict.
import { $, ask, attempt, element, t } from './studio.js'

let source = null
let job = null
let items = new Map()
let version = 0
const context = () => new OfflineAudioContext(1, 1, 24000)
const sound = new Audio()

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
  const seconds = ended ? job.audio_seconds : [...items.values()].reduce((sum, item) => sum + item.audio_seconds, 0)
  $('job-line').textContent = t('job.made', job.made, job.chunks, seconds.toFixed(1))
  $('problem').textContent = job.error
  const made = ['done', 'faulty'].includes(job.state)
  $('job-result').hidden = !made
  if (made) {
    const url = `/v1/jobs/${job.id}/audio?v=${++version}`
    $('player').src = url
    $('download').href = url
  }
}

function show(id, item) {
  items.set(item.index, item)
  const verdict = item.accepted ? t('job.accepted') : t(`verdict.${item.verdict}`)
  const badge = element('span', { class: `badge ${item.accepted ? 'pass' : item.verdict}` }, verdict)
  const url = `/v1/jobs/${id}/chunks/${item.index}/audio?a=${item.attempt}`
  const play = () => { sound.src = url; sound.play() }
  const wave = element('canvas', { width: 352, height: 76, role: 'img', 'aria-label': `${item.audio_seconds.toFixed(1)} s`, onclick: play })
  const words = element('div', {}, element('span', { lang: item.language }, item.text))
  if (item.verdict === 'fault' || item.verdict === 'inconclusive') words.append(element('div', { class: 'heard' }, `${t('job.heard')}: ${item.heard || '—'}`))
  for (const fault of item.faults) words.append(element('div', { class: 'heard' }, fault))
  const act = (what) => () => attempt($('problem'), async () => {
    await ask(`/v1/jobs/${id}/chunks/${item.index}/${what}`, { method: 'POST' })
    source.close()
    listen(id)
  })
  const buttons = element('div', { class: 'buttons' }, badge,
    element('button', { onclick: play, 'aria-label': `${t('job.play')} ${item.name}` }, '▶'),
    element('button', { onclick: act('redo') }, t('job.redo')))
  if (['fault', 'inconclusive'].includes(item.verdict) && !item.accepted) buttons.append(element('button', { onclick: act('accept') }, t('job.accept')))
  const row = element('li', { 'data-index': item.index, 'data-verdict': item.verdict }, element('span', { class: 'name' }, item.name), words, wave, buttons)
  const old = $('chunks').querySelector(`[data-index="${item.index}"]`)
  const after = [...$('chunks').children].find((other) => Number(other.dataset.index) > item.index)
  if (old) old.replaceWith(row)
  else $('chunks').insertBefore(row, after ?? null)
  draw(wave, url).catch(() => {})
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
