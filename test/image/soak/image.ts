/** The image of the soak, whose boot manager prints samples of its processes. Making it takes Debian's packages, so it is made before. */

import { join } from 'node:path'
import { ROOT } from '../../support/made-once.ts'
import { bundleWith } from '../entries.ts'
import { buildImage, type Image } from '../images.ts'

const BUNDLE = join(ROOT, 'dist/test-image/soak')

export async function soakImage(): Promise<Image> {
  await bundleWith({ 'boot/device/main.ts': 'soak/device.ts' }, BUNDLE)
  return buildImage({ bundle: BUNDLE })
}

if (import.meta.main) await soakImage()
