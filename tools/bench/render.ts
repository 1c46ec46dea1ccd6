/**
 * How the time to render a message of the chat grows with its length: random texts of 1,000 characters, and of
 * 10,000, as long as a message may be. A renderer in linear time needs ten times as long for them.
 *
 * node tools/bench/render.ts [--texts=300] [--runs=15]
 */

import { parseArgs } from 'node:util'
import { RenderedTooLong } from '../../firmware/chat/render/html.ts'
import { NO_NAMES } from '../../firmware/chat/render/names.ts'
import { render } from '../../firmware/chat/render/render.ts'
import { quantile, writeResults } from './harness.ts'

const SHORT = 1000 // characters
const LONG = 10_000
const RATIO_MAX = 12

const { values } = parseArgs({
  options: { texts: { type: 'string', default: '300' }, runs: { type: 'string', default: '15' } },
})
const [texts, runs] = [Number(values.texts), Number(values.runs)]

/** Text that begins, ends or breaks a construct, and words between. */
const PIECES = [
  ...'*_~`[]()<>#|:@!$&\\"\'-+.'.split(''),
  ...['word ', 'another ', 'a', ' ', '\n', '\n\n', '**', '~~', '``', '```\n', '~~~\n', '```quote\n', '```spoiler x\n'],
  ...['> ', '* ', '  * ', '1. ', '# ', '---\n', '|a|b|\n', '|-|-|\n', '@**', '@**all**', '#**', '<time:1>', ':smile:'],
  ...['[a](', '[a](b)', '![a](', 'https://a.b/c.png ', 'a.com/(', 'x@y.zz', '&amp;', '<b>', ' é', '漢', '👍'],
]

const settings = {
  realmUrl: 'https://chat.example',
  translateEmoticons: true,
  imagePreviews: true,
  externalPreviews: true,
  codeLanguage: '',
  emptyTopicName: 'general chat',
  linkifiers: [],
}

function randomText(length: number): string {
  let text = ''
  while (text.length < length) text += PIECES[Math.floor(Math.random() * PIECES.length)]
  return text.slice(0, length)
}

/** The fastest of some runs: what others do on this computer only adds to it. Null for HTML that is refused as too long. */
function timeUs(text: string): number | null {
  let fastest = Number.POSITIVE_INFINITY
  for (let run = 0; run < runs; run++) {
    const begin = performance.now()
    try {
      render(text, NO_NAMES, settings)
    } catch (error) {
      if (error instanceof RenderedTooLong) return null
      throw error
    }
    fastest = Math.min(fastest, (performance.now() - begin) * 1000)
  }
  return fastest
}

for (let warmUp = 0; warmUp < 200; warmUp++) timeUs(randomText(LONG))
function timesOf(length: number): number[] {
  const times: number[] = []
  while (times.length < texts) {
    const time = timeUs(randomText(length))
    if (time !== null) times.push(time)
  }
  return times
}

// Not each text beside a longer one that begins with it: a fence that is open in the one may end in the other.
const [short, long] = [timesOf(SHORT), timesOf(LONG)]
const at = (share: number) => ({ shortUs: quantile(short, share), longUs: quantile(long, share) })
const results = { texts, p50: at(0.5), p99: at(0.99) }
const ratio = ({ shortUs, longUs }: ReturnType<typeof at>): number => longUs / shortUs
for (const [name, times] of [
  ['p50', results.p50],
  ['p99', results.p99],
] as const)
  console.log(
    `${name}   1,000 characters ${times.shortUs.toFixed(0)} us   10,000 characters ${times.longUs.toFixed(0)} us   ${ratio(times).toFixed(1)} times`,
  )
writeResults('render', results)
if (ratio(results.p99) > RATIO_MAX) {
  console.error(`The time grows faster than the text: more than ${RATIO_MAX} times as long for ten times the text`)
  process.exitCode = 1
}
