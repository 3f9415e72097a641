// A new voice from a recording, with its transcript to confirm; and the list of voices.
import { $, ask, attempt, element, open, t } from './studio.js'
import { fillVoices } from './make.js'

let clip = null
let recorder = null
const sound = new Audio()
const SAMPLE = { zh: '你好，这是我的声音。', en: 'Hello, this is my voice.', ja: 'こんにちは、これが私の声です。' }

async function hear(voice) {
  const input = SAMPLE[voice.language] ?? SAMPLE.zh
  const answer = await ask('/v1/audio/speech', { json: { input, voice: voice.id, response_format: 'wav', stream: false } })
  sound.src = URL.createObjectURL(await answer.blob())
  await sound.play()
}

async function take(file) {
  clip = file
  $('clip-player').src = URL.createObjectURL(file)
  $('clip-player').hidden = false
  $('clip-warnings').replaceChildren(element('li', {}, t('voice.listening')))
  const form = new FormData()
  form.append('file', file)
  try {
    const found = await (await ask('/v1/audio/voices/check', { method: 'POST', body: form })).json()
    $('transcript').value = found.transcript
    $('clip-warnings').replaceChildren(...found.warnings.map((warning) => element('li', {}, warning)))
  } catch (error) {
    clip = null
    $('clip-warnings').replaceChildren()
    throw error
  }
}

async function record() {
  if (recorder) { recorder.stop(); return }
  let stream
  try { stream = await navigator.mediaDevices.getUserMedia({ audio: true }) } catch { throw new Error(t('voice.nomic')) }
  const parts = []
  recorder = new MediaRecorder(stream)
  recorder.ondataavailable = (event) => parts.push(event.data)
  recorder.onstop = () => {
    stream.getTracks().forEach((track) => track.stop())
    const made = new Blob(parts, { type: recorder.mimeType })
    recorder = null
    $('record').textContent = t('voice.record')
    attempt($('voice-problem'), () => take(made))
  }
  recorder.start()
  $('record').textContent = t('voice.stop')
}

async function save() {
  if (!clip) throw new Error(t('voice.noclip'))
  const form = new FormData()
  form.append('file', clip)
  for (const id of ['name', 'transcript']) form.append(id, $(id).value)
  form.append('consent', $('consent').checked)
  await ask('/v1/audio/voices', { method: 'POST', body: form })
  $('new-voice').reset()
  clip = null
  $('clip-player').hidden = true
  $('clip-warnings').replaceChildren(element('li', {}, t('voice.saved')))
  await showVoices()
}

export async function showVoices() {
  const voices = await fillVoices()
  $('voice-list').replaceChildren(...voices.map((voice) => element('li', {},
    element('span', { class: 'grow' }, voice.name, element('div', { class: 'hint' }, [voice.language, voice.gender, voice.engine, voice.licence].filter(Boolean).join(' · '))),
    element('button', { 'aria-label': `${t('job.play')} ${voice.name}`, onclick: async (event) => {
      event.target.disabled = true
      await attempt($('voices-problem'), () => hear(voice))
      event.target.disabled = false
    } }, '▶'),
    element('button', { 'aria-label': `${t('voice.use')} ${voice.name}`, onclick: () => { open('make'); fillVoices(voice.id) } }, t('voice.use')))))
}

export function setUpVoices() {
  $('clip').addEventListener('change', () => $('clip').files[0] && attempt($('voice-problem'), () => take($('clip').files[0])))
  $('record').addEventListener('click', () => attempt($('voice-problem'), record))
  $('new-voice').addEventListener('submit', (event) => { event.preventDefault(); attempt($('voice-problem'), save) })
}
