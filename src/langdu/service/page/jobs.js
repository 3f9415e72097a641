// The list of jobs.
import { $, ask, attempt, element, open, t } from './studio.js'
import { clock, follow } from './job.js'

export async function showJobs() {
  const { data } = await (await ask('/v1/jobs')).json()
  const row = (job) => {
    const act = (method, path = '') => () => attempt($('jobs-problem'), async () => {
      await ask(`/v1/jobs/${job.id}${path}`, { method })
      await showJobs()
    })
    const item = element('li', {},
      element('span', { class: `badge ${job.state}` }, t(`state.${job.state}`)),
      element('span', { class: 'grow' }, job.title, element('div', { class: 'hint' }, `${new Date(job.created * 1000).toLocaleString()} · ${t('job.made', job.made, job.chunks, clock(job.audio_seconds))}`)),
      element('button', { onclick: () => { open('make'); follow(job.id) } }, t('jobs.open')))
    if (['queued', 'running'].includes(job.state)) item.append(element('button', { onclick: act('POST', '/cancel') }, t('jobs.cancel')))
    if (['failed', 'cancelled'].includes(job.state)) item.append(element('button', { onclick: act('POST', '/resume') }, t('jobs.resume')))
    item.append(element('button', { onclick: () => { if (confirm(t('jobs.sure'))) act('DELETE')() } }, t('jobs.delete')))
    return item
  }
  $('job-list').replaceChildren(...(data.length ? data.map(row) : [element('li', {}, t('jobs.none'))]))
}

