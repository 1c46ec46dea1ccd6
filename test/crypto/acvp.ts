/** NIST's vectors of ML-DSA in the files of ACVP, questions and answers apart: draft-celi-acvp-ml-dsa. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { VECTORS } from '../support/tools.ts'

type AcvpMode = 'keyGen' | 'sigGen' | 'sigVer'

export interface AcvpTest {
  tcId: number
  parameterSet: string
  deterministic?: boolean
  /** Absent in older files, where it is internal. */
  signatureInterface?: 'external' | 'internal'
  preHash?: 'pure' | 'preHash' | 'none'
  seed?: string
  pk?: string
  sk?: string
  message?: string
  mu?: string
  context?: string
  rnd?: string
  signature?: string
  testPassed?: boolean
}

interface VectorSet {
  mode: AcvpMode
  vsId: number
  testGroups: { tgId: number; tests: AcvpTest[] }[]
}

export const acvp = (mode: AcvpMode): AcvpTest[] =>
  folders().flatMap((folder) => {
    const answers = new Map<string, object>()
    for (const { vsId, testGroups } of setsIn(folder, 'expectedResults'))
      for (const { tests } of testGroups) for (const test of tests) answers.set(`${vsId} ${test.tcId}`, test)
    return setsIn(folder, 'prompt')
      .filter((set) => set.mode === mode)
      .flatMap(({ vsId, testGroups }) =>
        testGroups.flatMap(({ tests, ...group }) =>
          tests.map((test) => ({ ...group, ...test, ...answers.get(`${vsId} ${test.tcId}`) })),
        ),
      )
  }) as AcvpTest[]

function folders(): string[] {
  const root = join(VECTORS, 'acvp')
  if (!existsSync(root) && process.env.CI !== 'true') return []
  return readdirSync(root).map((name) => join(root, name))
}

const setsIn = (folder: string, file: string): VectorSet[] =>
  [JSON.parse(readFileSync(join(folder, `${file}.json`), 'utf8'))].flat().filter((set) => 'testGroups' in set)
