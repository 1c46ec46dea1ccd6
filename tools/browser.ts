/** The browser that tests, pictures and measurements of the page run: Debian's Chromium. */

import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core'
import { defined } from '../firmware/base/defined.ts'

const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

export const BROWSER_PACKAGES = 'chromium-headless-shell fonts-dejavu-core'

export async function startBrowser(): Promise<Browser | null> {
  const program = installed()
  return program === undefined ? null : chromium.launch({ executablePath: program, args: ARGUMENTS })
}

export const startProfile = (directory: string, options: BrowserContextOptions): Promise<BrowserContext> =>
  chromium.launchPersistentContext(directory, { ...options, executablePath: defined(installed()), args: ARGUMENTS })

const installed = () => PROGRAMS.find((path) => existsSync(path))
const ARGUMENTS = process.getuid?.() === 0 ? ['--no-sandbox'] : []
