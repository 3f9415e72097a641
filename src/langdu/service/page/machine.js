// Models with their downloads, engines that run, and a short measurement.
import { $, ask, attempt, element, t } from './studio.js'

const size = (bytes) => bytes > 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`

async function fetchModel(name, row) {
  const bar = element('progress', { max: 1, 'aria-label': name })
  row.append(bar)
  try {
    const answer = await ask(`/v1/models/${encodeURIComponent(name)}/download`, { method: 'POST' })
    for await (const event of events(answer.body)) {
      if (event.type === 'error') throw new Error(event.error.message)
      if (event.total) bar.value = event.done / event.total
    }
  } finally { bar.remove() }
  await showMachine()
}

/** The data of server-sent events; EventSource itself can only ask with GET, and a download is no GET. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += part.value
    const blocks = text.split('\n\n')
    text = blocks.pop()
    for (const block of blocks) yield JSON.parse(block.slice(block.indexOf('data: ') + 6))
  }
}

export async function showMachine() {
  const { data } = await (await ask('/v1/models')).json()
  $('model-list').replaceChildren(...data.filter((model) => model.role !== 'alias').map((model) => {
    const row = element('li', {}, element('span', { class: 'grow' }, model.id, element('div', { class: 'hint' }, `${model.role} · ${size(model.size)}`)))
    if (model.installed) row.append(element('span', { class: 'badge done' }, t('machine.here')))
    else row.append(element('button', { onclick: async (event) => {
      event.target.disabled = true
      await attempt($('machine-problem'), () => fetchModel(model.id, row))
      event.target.disabled = false
    } }, t('machine.get')))
    return row
  }))
  const { workers } = await (await ask('/v1/status')).json()
  $('worker-list').replaceChildren(...(workers.length ? workers.map((worker) => element('li', {},
    element('span', { class: 'grow' }, `${worker.engine} ${worker.model}`), element('span', { class: 'hint' }, `pid ${worker.pid} · ${Math.round(worker.memory_mb)} MB`))) : [element('li', {}, t('machine.none'))]))
}

async function measure() {
  $('bench-result').textContent = t('machine.measuring')
  try {
    const text = '今天天气很好，我们去公园里走了一整天，看见很多人在湖边唱歌，晚上才慢慢走回家。'
    const say = () => ask('/v1/audio/speech', { json: { input: text, voice: $('voice').value || null, stream: false, response_format: 'pcm' } })
    await say()
    const answer = await say()
    const [work, made] = ['Seconds', 'Audio-Seconds'].map((name) => Number(answer.headers.get(`X-Langdu-${name}`)))
    $('bench-result').textContent = `RTF ${(work / made).toFixed(2)} · ${made.toFixed(1)} s / ${work.toFixed(1)} s · ${answer.headers.get('X-Langdu-Model')} (${answer.headers.get('X-Langdu-Device')})`
  } catch (error) { $('bench-result').textContent = ''; throw error }
}

export function setUpMachine() {
  $('bench').addEventListener('click', async () => {
    $('bench').disabled = true
    await attempt($('machine-problem'), measure)
    $('bench').disabled = false
    showMachine()
  })
}
