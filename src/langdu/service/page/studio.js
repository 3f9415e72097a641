// The page itself: tabs, language, and the panels of its modules.
import { WORDS } from './words.js'
import { setUpMake } from './make.js'
import { setUpJob } from './job.js'
import { showJobs } from './jobs.js'
import { setUpVoices, showVoices } from './voices.js'
import { setUpMachine, showMachine } from './machine.js'

export const $ = (id) => document.getElementById(id)
let language = localStorage.getItem('language') ?? (navigator.language.startsWith('zh') ? 'zh' : 'en')
export const t = (key, ...values) => {
  const found = WORDS[language][key] ?? key
  return typeof found === 'function' ? found(...values) : found
}

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value)
    else if (name === 'class') made.className = value
    else made.setAttribute(name, value)
  }
  made.append(...children)
  return made
}

/** Ask the service; its own message becomes the error's. */
export async function ask(path, options = {}) {
  if (options.json !== undefined) {
    options = { method: 'POST', body: JSON.stringify(options.json), headers: { 'Content-Type': 'application/json' } }
  }
  const answer = await fetch(path, options)
  if (!answer.ok) {
    const body = await answer.json().catch(() => null)
    throw new Error(body?.error?.message ?? `${answer.status} ${answer.statusText}`)
  }
  return answer
}

/** Run an action of a button; its failure is shown in `place`. */
export async function attempt(place, action) {
  place.textContent = ''
  try { await action() } catch (error) { place.textContent = error.message }
}

const tabs = [...document.querySelectorAll('[role=tab]')]
const shows = { jobs: showJobs, voices: showVoices, machine: showMachine }

export function open(panel) {
  for (const tab of tabs) {
    const chosen = tab.getAttribute('aria-controls') === panel
    tab.setAttribute('aria-selected', chosen)
    tab.tabIndex = chosen ? 0 : -1
    $(tab.getAttribute('aria-controls')).hidden = !chosen
  }
  history.replaceState(null, '', `#${panel}`)
  shows[panel]?.()
}

function translate() {
  document.documentElement.lang = language
  $('language').textContent = language === 'zh' ? 'EN' : '中文'
  for (const place of document.querySelectorAll('[data-t]')) place.textContent = t(place.dataset.t)
  for (const place of document.querySelectorAll('[data-p]')) place.placeholder = t(place.dataset.p)
  document.dispatchEvent(new Event('translated'))
}

for (const tab of tabs) {
  tab.addEventListener('click', () => open(tab.getAttribute('aria-controls')))
  tab.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!step) return
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length]
    next.focus()
    open(next.getAttribute('aria-controls'))
  })
}
$('language').addEventListener('click', () => {
  language = language === 'zh' ? 'en' : 'zh'
  localStorage.setItem('language', language)
  translate()
  shows[location.hash.slice(1)]?.()
})

setUpMake()
setUpJob()
setUpVoices()
setUpMachine()
translate()
open(tabs.some((tab) => tab.getAttribute('aria-controls') === location.hash.slice(1)) ? location.hash.slice(1) : 'make')
document.documentElement.dataset.ready = 'true'
