// From a text to a playing file: script, job, chunks.
import { $, ask, attempt, element, t } from './studio.js'
import { follow } from './job.js'

let document_ = null

const chosen = () => ({
  voice: $('voice').value || null, speed: Number($('speed').value) || 1, response_format: $('format').value,
  verify: $('verify').checked, loudness: $('loudness').value, reading: reading(), roles: pairs($('roles').value),
})

const reading = () => ({ dialogue: $('dialogue').checked, url: $('url').value, lexicon: pairs($('lexicon').value) })

/** Lines of "word = how it is said" as a table; a line of another form is an error that names it. */
function pairs(text) {
  const found = {}
  for (const line of text.split('\n').map((one) => one.trim()).filter(Boolean)) {
    const [, name, value] = line.match(/^(.+?)\s*[=＝]\s*(.+)$/) ?? []
    if (!name) throw new Error(t('make.pair', line))
    found[name] = value
  }
  return found
}

export async function fillVoices(choose) {
  const { voices } = await (await ask('/v1/audio/voices')).json()
  const wanted = choose ?? $('voice').value
  $('voice').replaceChildren(element('option', { value: '' }, t('make.auto')))
  for (const kind of [...new Set(voices.map((voice) => voice.language))]) {
    const group = element('optgroup', { label: kind || '—' })
    for (const voice of voices.filter((v) => v.language === kind)) group.append(element('option', { value: voice.id }, voice.name))
    $('voice').append(group)
  }
  if (wanted && ![...$('voice').options].some((option) => option.value === wanted)) $('voice').append(element('option', { value: wanted }, wanted))
  $('voice').value = wanted
  return voices
}

async function preview() {
  let answer
  if (document_) {
    const form = new FormData()
    form.append('file', document_)
    answer = await ask('/v1/script/document', { method: 'POST', body: form })
  } else {
    if (!$('text').value.trim()) throw new Error(t('make.empty'))
    answer = await ask('/v1/script', { json: { input: $('text').value.slice(0, 100_000), voice: $('voice').value || null, reading: reading(), roles: pairs($('roles').value) } })
  }
  const script = await answer.json()
  let paragraph = 0
  $('script').replaceChildren(...script.lines.map((line) => {
    const item = element('li', { class: `${line.changed ? 'changed' : ''} ${line.paragraph !== paragraph ? 'paragraph' : ''}` })
    paragraph = line.paragraph
    if (line.changed) item.append(element('span', { class: 'source' }, line.source))
    if (line.voice) item.append(element('span', { class: 'badge' }, line.voice), ' ')
    item.append(element('span', { class: 'spoken', lang: line.language }, line.spoken))
    return item
  }))
  if (script.more) $('script').append(element('li', { class: 'hint' }, t('script.more', script.more)))
  $('warnings').replaceChildren(...script.warnings.map((warning) => element('li', {}, warning)))
}

async function start() {
  let answer
  if (document_) {
    const form = new FormData()
    form.append('file', document_)
    form.append('options', JSON.stringify(chosen()))
    answer = await ask('/v1/jobs/document', { method: 'POST', body: form })
  } else {
    if (!$('text').value.trim()) throw new Error(t('make.empty'))
    answer = await ask('/v1/jobs', { json: { input: $('text').value, ...chosen() } })
    preview().catch(() => {})
  }
  follow((await answer.json()).id)
}

async function tryStart() {
  if (!$('text').value.trim()) throw new Error(t('make.empty'))
  const { voice, speed } = chosen()
  const answer = await ask('/v1/audio/speech', { json: { input: $('text').value.slice(0, 120), voice, speed, stream: false, response_format: 'wav' } })
  await new Audio(URL.createObjectURL(await answer.blob())).play()
}

async function take(file) {
  if (!file) return
  if (/\.(txt|md)$/i.test(file.name) && file.size < 500_000) {
    try {
      $('text').value = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
      document_ = null
      $('filename').textContent = file.name
      count()
      preview().catch(() => {})
      return
    } catch { /* another encoding: the service knows them */ }
  }
  document_ = file
  $('text').value = ''
  $('filename').textContent = `📄 ${file.name}`
  count()
  await attempt($('problem'), preview)
}

const count = () => { $('count').textContent = [...$('text').value].length }

export function setUpMake() {
  const busy = (button, action) => button.addEventListener('click', async () => {
    button.disabled = true
    await attempt($('problem'), action)
    button.disabled = false
  })
  busy($('start'), start)
  busy($('preview'), preview)
  busy($('try'), tryStart)
  $('text').addEventListener('input', () => { document_ = null; $('filename').textContent = ''; count() })
  $('file').addEventListener('change', () => take($('file').files[0]))
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !$('make').hidden && !$('start').disabled) $('start').click()
  })
  $('drop').addEventListener('dragover', (event) => { event.preventDefault(); $('drop').classList.add('over') })
  $('drop').addEventListener('dragleave', () => $('drop').classList.remove('over'))
  $('drop').addEventListener('drop', (event) => {
    event.preventDefault()
    $('drop').classList.remove('over')
    take(event.dataTransfer.files[0])
  })
  document.addEventListener('translated', () => attempt($('problem'), () => fillVoices()))
}
