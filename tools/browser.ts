/** The browser that tests, pictures and measurements of the page run: Debian's Chromium. */

import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core'
import { defined } from '../firmware/base/defined.ts'

const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

export const BROWSER_PACKAGES = 'chromium-headless-shell fonts-dejavu-core'

/** `flags` of Chromium's command line. */
export async function startBrowser(...flags: string[]): Promise<Browser | null> {
  const program = installed()
  return program === undefined ? null : chromium.launch({ executablePath: program, args: [...ARGUMENTS, ...flags] })
}

/** For programs that need the browser. */
export async function browserOrExit(): Promise<Browser> {
  const browser = await startBrowser()
  if (browser !== null) return browser
  console.log(`No browser found: sudo apt install ${BROWSER_PACKAGES}`)
  process.exit(1)
}

/** `trustedKey` is the base64 SHA-256 of the public key of a certificate that the browser shall trust. */
export const startProfile = (
  directory: string,
  options: BrowserContextOptions,
  trustedKey?: string,
): Promise<BrowserContext> =>
  chromium.launchPersistentContext(directory, {
    ...options,
    executablePath: defined(installed()),
    args: trustedKey === undefined ? ARGUMENTS : [...ARGUMENTS, `--ignore-certificate-errors-spki-list=${trustedKey}`],
  })

const installed = () => PROGRAMS.find((path) => existsSync(path))
const ARGUMENTS = process.getuid?.() === 0 ? ['--no-sandbox'] : []
