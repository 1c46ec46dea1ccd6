/** Tries, as root on the device, to get the device key from the TPM a second time in one start of the machine. */

import { existsSync, readdirSync } from 'node:fs'
import { openDeviceKeys } from '../../../boot/device/key/device-key.ts'
import { CLOSED_BY_US, SECURE_BOOT } from '../../../boot/device/key/sealed-key.ts'
import { readRecord } from '../../../boot/device/key/sealed-record.ts'
import { createTpm } from '../../../boot/tpm/command.ts'
import { counterUnder } from '../../../boot/tpm/counter.ts'
import { type Registers, readRegisters } from '../../../boot/tpm/registers.ts'
import { unseal } from '../../../boot/tpm/sealed.ts'
import { withStorageKey } from '../../../boot/tpm/storage-key.ts'
import { openTpmDevice } from '../../../boot/tpm/transport.ts'

const STORE = '/data/store'
const RECORD = '/data/device.tpm'
const TPM = '/dev/tpmrm0'

/** Call it when the boot manager has opened the key. At the first start there is nothing to open, only to make. */
export function tryOnceMore(): void {
  if (!existsSync(TPM) || !existsSync(RECORD) || readdirSync(STORE).length === 0) return
  const opened = openDeviceKeys('/data', STORE).open()
  console.log(`probe: the boot manager's way: ${'key' in opened ? 'GIVEN' : opened.problem}`)
  const record = readRecord(RECORD)
  if ('problem' in record) throw new Error(record.problem)
  const tpm = createTpm(openTpmDevice(TPM))
  const counter = counterUnder(record.counter!)
  const tries: Record<string, Registers> = {
    'the values it was sealed to': new Map([
      [SECURE_BOOT, record.register7],
      [CLOSED_BY_US, new Uint8Array(32)],
    ]),
    'the values there are': readRegisters(tpm, [SECURE_BOOT, CLOSED_BY_US]),
    'one register alone': new Map([[SECURE_BOOT, record.register7]]),
  }
  for (const [what, registers] of Object.entries(tries)) {
    try {
      withStorageKey(tpm, (storageKey) => unseal(tpm, storageKey, record, { registers, counter }))
      console.log(`probe: ${what}: GIVEN`)
    } catch (error) {
      console.log(`probe: ${what}: ${(error as Error).message}`)
    }
  }
  tpm.close()
}
