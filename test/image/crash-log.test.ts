// @test device 60
/** A version that crashes while it starts says why, on the console of a device and before it is started again. */

import { test } from 'node:test'
import { boot, onMachines } from '../support/machine.ts'
import { makeDirectory } from './images.ts'
import { changedImage } from './versions.ts'

const BROKEN = '1.3.0'

test('the log of a version that crashes has the message of its error', onMachines(), async (t) => {
  // A fault as programmers make them, while nothing listens yet.
  const image = await changedImage(BROKEN, makeDirectory(t), (program) =>
    program('firmware.js').replace(
      /const traffic = createTraffic\(\)/,
      'const traffic = createTraffic().connections.open',
    ),
  )
  const device = await boot(t, image)
  const said =
    /unexpected TypeError \(Cannot read properties of undefined \(reading 'open'\)\): at [^\r\n]*\r?\n[\s\S]*?The firmware ended with exit code 70/
  await device.see(said)
  await device.see(said)
})
