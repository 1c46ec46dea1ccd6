/** The browser that tests, pictures and measurements of the page run: Debian's Chromium. */

import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core'

const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

/** What installs it. */
export const BROWSER_PACKAGES = 'chromium-headless-shell fonts-dejavu-core'

/** Null where there is none. */
export async function startBrowser(): Promise<Browser | null> {
  const program = installed()
  return program === undefined ? null : chromium.launch({ executablePath: program, args: ARGUMENTS })
}

/** A browser of its own that keeps what it has in the directory, where `startBrowser` has found one. */
export const startProfile = (directory: string, options: BrowserContextOptions): Promise<BrowserContext> =>
  chromium.launchPersistentContext(directory, { ...options, executablePath: installed()!, args: ARGUMENTS })

const installed = () => PROGRAMS.find((path) => existsSync(path))
const ARGUMENTS = process.getuid?.() === 0 ? ['--no-sandbox'] : []
