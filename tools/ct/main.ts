/**
 * Timing-leakage test of RSA, the curves and ML-DSA: prints Welch's |t| for each subject and fails above the limit, or when a leak made
 * on purpose is not found. README.md says what that proves. Run it on an idle machine, in parts if need be:
 * `node tools/ct/main.ts [--samples N] [--engine plain] [--group powers --group curves] [--only TEXT] [--log FILE]`. The log is
 * what is printed, after the date and the processor.
 */

import { appendFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { plainEngine } from '../../firmware/crypto/engine/integer/integer.ts'
import { engine as selected } from '../../firmware/crypto/engine/select.ts'
import { GROUPS } from './subjects.ts'
import { compareClasses, T_LIMIT } from './welch.ts'

const { values } = parseArgs({
  options: {
    samples: { type: 'string', default: '10000' },
    engine: { type: 'string', default: selected.name },
    group: { type: 'string', multiple: true, default: Object.keys(GROUPS) },
    only: { type: 'string', default: '' },
    log: { type: 'string' },
  },
})
const samples = Number(values.samples)
if (!Number.isInteger(samples) || samples < 1000) throw new RangeError('--samples: at least 1000')
if (!values.group.every((group) => group in GROUPS)) {
  throw new RangeError(`--group: one of ${Object.keys(GROUPS).join(', ')}`)
}
const engine = [selected, plainEngine].find(({ name }) => name === values.engine)
if (engine === undefined) throw new RangeError(`--engine: ${selected.name} or plain`)

const say = (line: string): void => {
  console.log(line)
  if (values.log !== undefined) appendFileSync(values.log, `${line}\n`)
}

say(`${new Date().toISOString()}, ${cpus()[0]?.model}, Node ${process.version}`)
say(`engine ${engine.name}, ${samples} samples of each subject, limit ${T_LIMIT}, load ${loadavg()[0]?.toFixed(1)}`)
say('     |t|  would find, of the median  subject')
let passed = 0
const failed: string[] = []
for (const [group, make] of Object.entries(GROUPS)) {
  if (!values.group.includes(group)) continue
  for (const { name, leaks, measure } of make(engine)) {
    if (!name.includes(values.only)) continue
    const { t, findsNs, medianNs } = compareClasses(measure, samples)
    const isRight = t > T_LIMIT === leaks
    if (isRight) passed++
    else failed.push(name)
    const found = `${`${findsNs}`.padStart(6)} ns of ${(medianNs / 1000).toFixed(1).padStart(7)} µs`
    say(`${t.toFixed(2).padStart(8)}  ${found}  ${name}${isRight ? '' : leaks ? '  NOT FOUND' : '  LEAKS'}`)
  }
}
say(`${new Date().toISOString()}, load ${loadavg()[0]?.toFixed(1)}`)
say(`${passed} of ${passed + failed.length} passed${failed.map((name) => `\nfailed: ${name}`).join('')}`)
process.exitCode = failed.length === 0 && passed > 0 ? 0 : 1
