/** `topic_links` of messages: links in a topic's name, from linkifiers and bare addresses. Contract 2.4. */

import { addressIn } from './bare-links.ts'
import type { Linkifiers } from './linkifiers.ts'
import { formatUrl, parseUrl } from './url.ts'

export interface TopicLink {
  text: string
  url: string
}

interface Candidate extends TopicLink {
  start: number
}

/** Where links overlap, earlier linkifiers win, then bare addresses. Returned in the order of the text. */
export function linksInTopic(topic: string, linkifiers: Linkifiers): TopicLink[] {
  const links: Candidate[] = []
  for (const linkifier of linkifiers)
    for (const { start, text, url } of linkifier.matches(topic)) addUnlessTaken(links, { start, text, url })
  for (const { 0: word, index } of topic.matchAll(/[^ !;),'"]+/g)) {
    const place = addressIn(word)
    if (place === null) continue
    const text = word.slice(place.start, place.end)
    addUnlessTaken(links, { start: index + place.start, text, url: withScheme(text) })
  }
  return links.sort((a, b) => a.start - b.start).map(({ text, url }) => ({ text, url }))
}

function addUnlessTaken(links: Candidate[], link: Candidate): void {
  const end = link.start + link.text.length
  if (!links.some(({ start, text }) => start < end && link.start < start + text.length)) links.push(link)
}

function withScheme(text: string): string {
  const url = parseUrl(text)
  if (url === null || url.scheme !== '') return text
  const [host, ...path] = url.path.split('/')
  return url.host === ''
    ? formatUrl({ ...url, scheme: 'https', host: host!, path: path.length === 0 ? '' : `/${path.join('/')}` })
    : formatUrl({ ...url, scheme: 'https' })
}
