/**
 * Timing-leakage test of RSA and the curves: prints Welch's |t| for each subject and fails above the limit, or when a leak made
 * on purpose is not found. Run it on an idle machine: `node tools/ct/main.ts [--samples N] [--engine plain] [--only TEXT]`.
 */

import { parseArgs } from 'node:util'
import { plainEngine } from '../../firmware/crypto/engine/plain.ts'
import { engine as selected } from '../../firmware/crypto/engine/select.ts'
import { subjects } from './subjects.ts'
import { compareClasses, T_LIMIT } from './welch.ts'

const { values } = parseArgs({
  options: {
    samples: { type: 'string', default: '10000' },
    engine: { type: 'string', default: selected.name },
    only: { type: 'string', default: '' },
  },
})
const samples = Number(values.samples)
if (!Number.isInteger(samples) || samples < 1000) throw new RangeError('--samples: at least 1000')
const engine = [selected, plainEngine].find(({ name }) => name === values.engine)
if (engine === undefined) throw new RangeError(`--engine: ${selected.name} or plain`)

console.log(`engine ${engine.name}, ${samples} samples of each subject, limit ${T_LIMIT}`)
let failures = 0
for (const { name, leaks, measure } of subjects(engine)) {
  if (!name.includes(values.only)) continue
  const t = compareClasses(measure, samples)
  const wrong = t > T_LIMIT !== leaks
  if (wrong) failures++
  console.log(`${t.toFixed(2).padStart(8)}  ${name}${wrong ? (leaks ? '  NOT FOUND' : '  LEAKS') : ''}`)
}
process.exitCode = failures === 0 ? 0 : 1
