import { after } from 'node:test'
import { startProvisioned } from '../support/suite.ts'
import { launchBrowser } from './browser.ts'

/** A browser and a provisioned appliance for the tests of a file. */
export async function openProvisioned() {
  const browser = await launchBrowser()
  const appliance = await startProvisioned().catch(async (error) => {
    await browser.close()
    throw error
  })
  after(async () => {
    await browser.close()
    await appliance.dispose()
  })
  return { browser, appliance }
}
