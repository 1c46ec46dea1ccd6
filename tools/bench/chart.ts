/**
 * Draws the chart of README.md from what the benchmarks have written: for each kind of key, signatures a second of the
 * whole appliance beside the same program signing with node:crypto and the bare server, by number of connections.
 *
 * node tools/bench/chart.ts [--from=dist/bench/appliance.json] [--to=tools/bench/speed.svg]
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { KEYS, root } from './harness.ts'

export interface Results {
  processor: string
  cores: number
  node: string
  rows: readonly {
    server: string
    key: string
    connections: number
    requestsPerSecond: number
    ofNodeCrypto?: number
    ofBare?: number
  }[]
}

/** Colors that can be told apart without red and green, on white and on black. */
const SERVERS = [
  { id: 'coffer', name: 'Coffer', color: '#2a7de1' },
  { id: 'nodeCrypto', name: 'the same, signing with node:crypto', color: '#e69f00' },
  { id: 'bare', name: 'bare server, no signature', color: '#8a8f98' },
] as const

const WIDTH = 860
const PANEL = { width: 240, height: 170, left: 50, top: 62, gap: 36 }
const HEIGHT = PANEL.top + PANEL.height + 58
const TICKS = 4

export function draw(results: Results): string {
  const panels = KEYS.map((key, index) => panel(results, key, PANEL.left + index * (PANEL.width + PANEL.gap)))
  const legend = SERVERS.map(({ name, color }, index) => {
    const x = PANEL.left + [0, 90, 350][index]!
    return `<rect x="${x}" y="14" width="12" height="12" fill="${color}"/>${text(x + 18, 24, name)}`
  })
  const machine = `${results.processor}, ${results.cores} cores shared with the load; Node ${results.node.replace('v', '')}`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="sans-serif" font-size="12">
<title>Signatures a second over TLS, by connections</title>
<style>text { fill: #24292f } line { stroke: #d0d7de } @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } line { stroke: #30363d } }</style>
${[...legend, ...panels].join('\n')}
${text(PANEL.left, HEIGHT - 8, `Requests a second by number of connections. ${machine}`, 'font-size="11"')}
</svg>
`
}

function panel({ rows }: Results, { id, name }: (typeof KEYS)[number], left: number): string {
  const own = rows.filter((row) => row.key === id)
  const counts = [...new Set(own.map(({ connections }) => connections))].sort((a, b) => a - b)
  const { top, width, height } = PANEL
  const step = niceStep(Math.max(...own.map(({ requestsPerSecond }) => requestsPerSecond)) / TICKS)
  const y = (value: number) => top + height - (value / (step * TICKS)) * height
  const x = (connections: number) =>
    left + 10 + (counts.length < 2 ? 0 : (counts.indexOf(connections) / (counts.length - 1)) * (width - 20))
  const parts = [text(left, top - 14, name, 'font-weight="bold"')]
  for (let tick = 0; tick <= TICKS; tick++) {
    const at = y(step * tick).toFixed(1)
    parts.push(`<line x1="${left}" y1="${at}" x2="${left + width}" y2="${at}"/>`)
    parts.push(text(left - 5, Number(at) + 4, short(step * tick), 'text-anchor="end" font-size="10"'))
  }
  for (const connections of counts)
    parts.push(text(x(connections), top + height + 15, String(connections), 'text-anchor="middle" font-size="10"'))
  for (const { id: server, color } of SERVERS.toReversed()) {
    const points = counts.flatMap((connections) => {
      const row = own.find((row) => row.server === server && row.connections === connections)
      return row === undefined ? [] : [`${x(connections).toFixed(1)},${y(row.requestsPerSecond).toFixed(1)}`]
    })
    parts.push(`<polyline points="${points.join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>`)
    for (const point of points) {
      const [cx, cy] = point.split(',')
      parts.push(`<circle cx="${cx}" cy="${cy}" r="3" fill="${color}"/>`)
    }
  }
  return parts.join('\n')
}

const text = (x: number, y: number, content: string, attributes = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${markup(content)}</text>`

const markup = (content: string): string =>
  content.replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]!)

const short = (value: number): string => (value >= 1000 ? `${value / 1000}k` : String(value))

/** The next of 1, 2, 2.5 and 5 times a power of ten. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step >= least)!
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      from: { type: 'string', default: join(root, 'dist/bench/appliance.json') },
      to: { type: 'string', default: join(root, 'tools/bench/speed.svg') },
    },
  })
  writeFileSync(values.to, draw(JSON.parse(readFileSync(values.from, 'utf8')) as Results))
  console.log(`drawn: ${values.to}`)
}
