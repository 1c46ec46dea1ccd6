/** The browser that tests, pictures and measurements of the page run: Debian's Chromium. */

import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

/** What installs it. */
export const BROWSER_PACKAGES = 'chromium-headless-shell fonts-dejavu-core'

/** Null where there is none. */
export async function startBrowser(): Promise<Browser | null> {
  const program = PROGRAMS.find((path) => existsSync(path))
  if (program === undefined) return null
  return chromium.launch({ executablePath: program, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
}
