/**
 * Pictures of the chat's page for people to look at: every view, light and dark, wide and narrow, in dist/pictures. With
 * `--readme` the two of README.md are made anew as well, in firmware/chat-page/pictures. `node tools/chat-pictures.ts [--readme]`
 */

import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import * as words from '../firmware/chat-page/words/en.ts'
import { createClient, expectSuccess, root, startCoffer } from './bench/harness.ts'
import { browserOrExit } from './browser.ts'
import { bundle } from './build.ts'

const PASSWORD = 'words of a person'
const ADMIN = 'admin:words of the administrator'
const emailOf = (name: string) => `${name.toLowerCase().replace(/ .*/, '')}@example.org`
const OWNER = 'Olga Orlova'
const PEOPLE = ['Ben Becker', 'Cora Castro', 'Dana Diaz']
const SETTINGS = Object.keys(words.settingsSections) as words.SettingsSection[]
const ORGANIZATION = Object.keys(words.organizationSections) as words.OrganizationSectionName[]
/** Name of the picture, fragment, and the heading that says it is there. */
const VIEWS = [
  ['inbox', '#inbox', 'Inbox'],
  ['recent', '#recent', 'Recent conversations'],
  ['feed', '#feed', 'All messages'],
  ['topic', '#narrow/channel/1-ops/topic/backups', 'backups'],
  ['channel', '#narrow/channel/1-ops', '#ops'],
  ['search', '#narrow/search/restore', 'Search'],
  ['people', '#people', 'People'],
  ['channels', '#channels', 'Channels'],
  ['channel-settings', '#channels/1', 'Settings of #ops'],
  ['new-channel', '#channels/new', 'New channel'],
  ['new-direct', '#new-direct', 'New direct message'],
  ['drafts', '#drafts', 'Drafts'],
  ['about', '#about', 'About Example'],
  ...SETTINGS.map((name) => [`settings-${name}`, `#settings/${name}`, words.settingsSections[name]] as const),
  ...ORGANIZATION.map(
    (name) => [`organization-${name}`, `#organization/${name}`, words.organizationSections[name]] as const,
  ),
] as const
const LOOKS = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1180, height: 720 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1180, height: 720 } },
  { name: 'narrow', colorScheme: 'light', viewport: { width: 360, height: 740 } },
] as const

const { values: options } = parseArgs({ options: { readme: { type: 'boolean', default: false } } })
const browser = await browserOrExit()
const directory = mkdtempSync(join(tmpdir(), 'coffer-pictures-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const output = join(root, 'dist/pictures')
mkdirSync(output, { recursive: true })

const CHAT_PORT = 9443
await bundle(join(directory, 'program'))
const coffer = await startCoffer(join(directory, 'program'), join(directory, 'data'), process.execPath, {
  COFFER_CHAT_PORT: String(CHAT_PORT),
})
const { call, close } = createClient(coffer)
try {
  await makeOrganization()
  for (const [at, { name: look, ...window }] of LOOKS.entries()) {
    const context = await browser.newContext({ ...window, ignoreHTTPSErrors: true, reducedMotion: 'reduce' })
    const page = await context.newPage()
    await page.goto(`https://127.0.0.1:${CHAT_PORT}/`)
    const take = async (name: string) => {
      await page.locator('body:not(:has-text("Loading…"))').waitFor()
      await page.evaluate('document.activeElement?.blur()') // no ring of the focus
      await page.mouse.move(0, 0) // no message is pointed at
      await page.screenshot({ path: join(output, `chat-${name}-${look}.png`) })
    }
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await take('sign-in')
    await page.getByLabel('E-mail', { exact: true }).fill(emailOf(OWNER))
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor()
    if (at === 0) await addContents(page)

    for (const [name, fragment, heading] of VIEWS) {
      await page.goto(new URL(fragment, page.url()).href)
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
      await take(name)
    }
    await context.close()
  }
} finally {
  close()
  await browser.close()
  await coffer.stop()
}
if (options.readme) {
  const pictures = join(root, 'firmware/chat-page/pictures')
  mkdirSync(pictures, { recursive: true })
  for (const look of ['light', 'dark'])
    copyFileSync(join(output, `chat-topic-${look}.png`), join(pictures, `${look}.png`))
}
console.log(`Pictures are in ${output}`)

async function makeOrganization(): Promise<void> {
  const systemTime = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  const adminPassphrase = ADMIN.replace('admin:', '')
  await expectSuccess(
    call('POST', '/provision', undefined, { unlockPassphrase: 'words that unlock it', adminPassphrase, systemTime }),
  )
  const owner = { email: emailOf(OWNER), fullName: OWNER, password: PASSWORD }
  await expectSuccess(call('PUT', '/chat/organization', ADMIN, { name: 'Example', owner }))
}

/** Messages of a small team, written with the calls of the page. */
async function addContents(page: Page): Promise<void> {
  const keys = new Map<string, string>()
  const ask = async (path: string, form: Record<string, unknown>, as?: string) => {
    const texts = Object.entries(form).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ])
    const authorization = as === undefined ? null : `Basic ${btoa(`${emailOf(as)}:${keys.get(as)}`)}`
    const answer = await page.evaluate(
      async ([path, texts, authorization]) => {
        const headers: Record<string, string> = authorization === null ? {} : { authorization }
        const body = new URLSearchParams(texts as [string, string][])
        const response = await fetch(`/api/v1${path}`, { method: 'POST', headers, body })
        return (await response.json()) as { result: string; id: number; api_key: string }
      },
      [path, texts, authorization] as const,
    )
    if (answer.result !== 'success') throw new Error(`${path}: ${JSON.stringify(answer)}`)
    return answer
  }
  const say = (as: string, topic: string, content: string, channel = 'ops') =>
    ask('/messages', { type: 'stream', to: channel, topic, content, read_by_sender: true }, as)
  for (const name of PEOPLE) await ask('/users', { email: emailOf(name), full_name: name, password: PASSWORD })
  for (const name of [OWNER, ...PEOPLE])
    keys.set(name, (await ask('/fetch_api_key', { username: emailOf(name), password: PASSWORD })).api_key)
  for (const [name, description] of [
    ['ops', 'Servers and drills'],
    ['design', 'Pages and pictures'],
  ])
    await ask(
      '/users/me/subscriptions',
      { subscriptions: [{ name, description }], principals: [OWNER, ...PEOPLE].map(emailOf) },
      OWNER,
    )
  const [ben, cora, dana] = PEOPLE as [string, string, string]
  await ask('/users/me/presence', { status: 'active' }, dana)
  await ask('/users/me/presence', { status: 'idle' }, ben)
  await say(OWNER, 'backups', 'The drill is on **Thursday**: who restores the tar on the spare box?')
  await say(ben, 'backups', 'I do. Which one, the one of tonight?')
  const { id } = await say(
    OWNER,
    'backups',
    'Yes. Please write down what you type:\n\n```sh\ncoffer restore tonight.backup\n```',
  )
  await ask(`/messages/${id}/reactions`, { emoji_name: 'check_mark' }, ben)
  await ask(`/messages/${id}/reactions`, { emoji_name: 'check_mark' }, cora)
  await say(
    ben,
    'backups',
    `Restored, **11 minutes**. @**${OWNER}** the counts agree:\n\n| | before | after |\n|---|---|---|\n| keys | 412 | 412 |\n| messages | 20,184 | 20,184 |`,
  )
  await say(cora, 'backups', '/poll When is the next one?\nDecember\nJanuary')
  await say(dana, 'alerts', 'disk `sda` of the spare box is at 80 %')
  await say(cora, 'colors', 'One green for both pages, then?', 'design')
  await ask('/messages', { type: 'direct', to: [emailOf(OWNER)], content: 'Did the drill work?' }, dana)
}
