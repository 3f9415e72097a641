// From a text to a playing file: script, job, chunks.
import { $, ask, attempt, element, t } from './studio.js'
import { follow } from './job.js'

let document_ = null

const wish = () => ({
  input: $('text').value, voice: $('voice').value || null, speed: Number($('speed').value) || 1,
  response_format: $('format').value, verify: $('verify').checked,
})

export async function fillVoices(choose) {
  const { voices } = await (await ask('/v1/audio/voices')).json()
  const chosen = choose ?? $('voice').value
  $('voice').replaceChildren(element('option', { value: '' }, t('make.auto')))
  for (const kind of [...new Set(voices.map((voice) => voice.language))]) {
    const group = element('optgroup', { label: kind || '—' })
    for (const voice of voices.filter((v) => v.language === kind)) group.append(element('option', { value: voice.id }, voice.name))
    $('voice').append(group)
  }
  if (chosen && ![...$('voice').options].some((option) => option.value === chosen)) $('voice').append(element('option', { value: chosen }, chosen))
  $('voice').value = chosen
  return voices
}

async function preview() {
  if (!$('text').value.trim()) throw new Error(t('make.empty'))
  const script = await (await ask('/v1/script', { json: { input: $('text').value } })).json()
  let paragraph = 0
  $('script').replaceChildren(...script.lines.map((line) => {
    const item = element('li', { class: `${line.changed ? 'changed' : ''} ${line.paragraph !== paragraph ? 'paragraph' : ''}` })
    paragraph = line.paragraph
    if (line.changed) item.append(element('span', { class: 'source' }, line.source))
    item.append(element('span', { class: 'spoken', lang: line.language }, line.spoken))
    return item
  }))
  $('warnings').replaceChildren(...script.warnings.map((warning) => element('li', {}, warning)))
}

async function start() {
  let answer
  if (document_) {
    const form = new FormData()
    form.append('file', document_)
    const { voice, response_format, verify } = wish()
    for (const [name, value] of Object.entries({ voice, response_format, verify })) if (value !== null) form.append(name, value)
    answer = await ask('/v1/jobs/document', { method: 'POST', body: form })
  } else {
    if (!$('text').value.trim()) throw new Error(t('make.empty'))
    preview().catch(() => {})
    answer = await ask('/v1/jobs', { json: wish() })
  }
  follow((await answer.json()).id)
}

async function tryStart() {
  if (!$('text').value.trim()) throw new Error(t('make.empty'))
  const { voice, speed } = wish()
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
      return
    } catch { /* another encoding: the service knows them */ }
  }
  document_ = file
  $('text').value = ''
  $('filename').textContent = `📄 ${file.name}`
  count()
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
