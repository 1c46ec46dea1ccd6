// @test long 205
/** Owners and administrators run the organization in the page. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { ask, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { addBen, BEN, BEN_PASSWORD, type Ben } from './ben.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

const SECTIONS = [
  ...['Organization', 'Accounts', 'Invitations', 'Permissions', 'Rules', 'New accounts', 'Channels and folders'],
  ...['Groups', 'Bots', 'Emoji', 'Profile fields', 'Linkifiers', 'Playgrounds', 'Domains', 'Exports'],
]

let ben: Ben
const { browser, house } = await openHouse(async (house) => {
  ben = await addBen(house, { isInChannel: false })
})

const WIDE = { width: 1280, height: 860 }
const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 }).waitFor()
const saved = (page: Page) => page.getByText('Saved.').first().waitFor()
const get = async (path: string, form = {}, as = house.owner) => (await ask(house.port, 'GET', path, { as, form })).body

async function section(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Organization' }).getByRole('link', { name, exact: true }).click()
  await heading(page, name)
}

async function openOrganization(name?: string, statuses: number[] = []) {
  const here = await visitPage(browser, house.port, { statuses })
  await signIn(here.page, OWNER, OWNER_PASSWORD)
  await here.page.getByLabel('Menu').click()
  await here.page.getByRole('link', { name: 'Organization' }).click()
  await heading(here.page, 'Organization')
  if (name !== undefined) await section(here.page, name)
  return here
}

/** The settings of the organization as a new client is told them. */
async function realm(): Promise<Record<string, unknown>> {
  const form = {
    fetch_event_types: '["realm","realm_user_settings_defaults","realm_playgrounds"]',
    client_capabilities: '{"notification_settings_null":true,"user_settings_object":true}',
  }
  return (await ask(house.port, 'POST', '/register', { as: house.owner, form })).body
}

const dialog = (page: Page) => page.getByRole('dialog')
const save = async (page: Page) => {
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await dialog(page).waitFor({ state: 'detached' })
}
const remove = async (page: Page, name: string) => {
  await page.getByRole('button', { name: `Delete ${name}`, exact: true }).click()
  await dialog(page).getByRole('button', { name: 'Delete' }).click()
  await dialog(page).waitFor({ state: 'detached' })
}

test('an owner sees every section, and axe-core finds nothing in any; a member sees only what the rights allow', async () => {
  const here = await openOrganization()
  for (const name of SECTIONS) {
    await here.page.setViewportSize(WIDE)
    await section(here.page, name)
    await examineAll(here.page, `organization: ${name}`)
  }
  await here.end()
  await ask(house.port, 'PATCH', '/realm', {
    as: house.owner,
    form: { can_add_custom_emoji_group: JSON.stringify({ new: await groupId('role:administrators') }) },
  })
  const member = await visitPage(browser, house.port)
  await signIn(member.page, BEN, BEN_PASSWORD)
  await member.page.getByLabel('Menu').click()
  await member.page.getByRole('link', { name: 'Organization' }).click()
  await heading(member.page, 'Invitations')
  const seen = await member.page.getByRole('navigation', { name: 'Organization' }).getByRole('link').allTextContents()
  assert.deepEqual(seen, ['Invitations', 'Groups'])
  await member.page.evaluate(() => {
    location.hash = '#organization/rules'
  })
  await member.page.waitForTimeout(200)
  await heading(member.page, 'Invitations')
  await member.end()
})

const groupId = async (name: string): Promise<number> =>
  (await get('/user_groups')).user_groups.find((one: { name: string }) => one.name === name).id

test('people are invited by address and by link, and an invitation is revoked', async () => {
  const here = await openOrganization('Invitations')
  const { page } = here
  await page.getByLabel('E-mail addresses').fill('cora@example.org\ndora@example.org')
  await page.getByLabel('Role').selectOption('Moderator')
  await page.getByLabel('ops').check()
  await page.getByRole('button', { name: 'Invite' }).click()
  await page
    .getByRole('group', { name: 'cora@example.org' })
    .getByText(/\/join\/#/)
    .waitFor()
  await page.getByLabel('Who').selectOption('everybody with one link')
  await page.getByRole('button', { name: 'Invite' }).click()
  await page
    .getByRole('group', { name: 'Link for several people' })
    .getByText(/\/join\/#/)
    .waitFor()
  await page.getByRole('listitem').filter({ hasText: 'Link for several people' }).first().waitFor()
  await examineAll(page, 'open invitations')
  await page.setViewportSize(WIDE)
  await page.getByRole('button', { name: 'Renew: cora@example.org' }).click()
  await page.getByRole('button', { name: 'Revoke dora@example.org' }).click()
  await page.getByRole('button', { name: 'Revoke dora@example.org' }).waitFor({ state: 'detached' })
  const { invites } = await get('/invites')
  assert.deepEqual(
    invites.map((one: { email?: string; invited_as: number }) => [one.email ?? 'link', one.invited_as]),
    [
      ['cora@example.org', 300],
      ['link', 300],
    ],
  )
  await here.end()
})

test('an account is made, promoted, given a password link, deactivated with its content, and activated again', async () => {
  const here = await openOrganization('Accounts')
  const { page } = here
  await page.getByRole('button', { name: 'New account' }).click()
  await page.getByLabel('E-mail', { exact: true }).fill('emil@example.org')
  await page.getByLabel('Name', { exact: true }).fill('Emil Ewald')
  await page.getByLabel('First password').fill('words of emil ewald')
  await save(page)
  await page.getByRole('link', { name: 'Manage Emil Ewald' }).click()
  await heading(page, 'Emil Ewald')
  await page.getByLabel('Role').selectOption('Administrator')
  await saved(page)
  await page.getByRole('button', { name: 'Password link' }).click()
  await dialog(page).getByRole('button', { name: 'Create' }).click()
  const link = await page.getByRole('group', { name: 'Link for a new password of Emil Ewald' }).textContent()
  await examineAll(page, 'an account')
  await page.setViewportSize(WIDE)

  const emil = await visitPage(browser, house.port, {
    path: link!.replace(/^https:\/\/[^/]*/, ''),
    statuses: [400, 404],
  })
  await heading(emil.page, 'A new password for Example')
  await emil.page.getByText('emil@example.org').waitFor()
  await examineAll(emil.page, 'a new password')
  await emil.page.getByLabel('New password', { exact: true }).fill('short')
  await emil.page.getByRole('button', { name: 'Set the password' }).click()
  await emil.page.getByText('The action failed').waitFor()
  await emil.page.getByLabel('New password', { exact: true }).fill('chosen by emil alone')
  await emil.page.getByRole('button', { name: 'Set the password' }).click()
  await heading(emil.page, 'Inbox')
  assert.ok(!emil.page.url().includes('password'))
  const again = await visitPage(browser, house.port, { path: link!.replace(/^https:\/\/[^/]*/, ''), statuses: [404] })
  await heading(again.page, 'Link not found')
  await again.end()

  await page.getByRole('button', { name: 'Deactivate' }).click()
  await dialog(page).getByLabel('Messages and profile').selectOption('Keep them')
  await examineAll(page, 'the end of an account')
  await page.setViewportSize(WIDE)
  await dialog(page).getByRole('button', { name: 'Deactivate' }).click()
  await emil.page.getByText('This session has ended').waitFor()
  await emil.end()
  await page.getByRole('button', { name: 'Activate again' }).click()
  await dialog(page).getByRole('button', { name: 'Activate again' }).click()
  await page.getByRole('button', { name: 'Deactivate' }).waitFor()
  await here.end()
})

test('settings, rules and permissions of the organization are saved at once and seen by everybody', async () => {
  const here = await openOrganization()
  const other = await visitPage(browser, house.port)
  await signIn(other.page, BEN, BEN_PASSWORD)
  const { page } = here
  await page.getByLabel('Name', { exact: true }).fill('Example & Sons')
  await page.getByLabel('Name', { exact: true }).press('Enter')
  await other.page.getByText('Example & Sons', { exact: true }).waitFor()
  await section(page, 'Rules')
  await page.getByLabel('Time to edit').selectOption('one day')
  await page.getByLabel('Show who has read a message').check()
  await page.getByLabel('Delete messages after days').fill('365')
  await page.getByLabel('Delete messages after days').press('Enter')
  await page.getByLabel('New channels are announced in').selectOption('#ops')
  await page.getByLabel('Message to new people').fill('Welcome aboard')
  await page.getByLabel('Message to new people').blur()
  await saved(page)
  await section(page, 'Permissions')
  await page.getByLabel('Invite people', { exact: true }).selectOption('Administrators and above')
  await page.getByLabel('Make public channels', { exact: true }).selectOption('Moderators and above')
  await saved(page)
  await section(page, 'New accounts')
  await page.getByLabel('Enter sends a message').check()
  await page.waitForFunction(() => document.body.textContent.includes('Saved.'))
  const wanted: Record<string, unknown> = {
    realm_name: 'Example & Sons',
    realm_message_content_edit_limit_seconds: 86_400,
    realm_enable_read_receipts: true,
    realm_message_retention_days: 365,
    realm_new_stream_announcements_stream_id: house.channelId,
    realm_welcome_message_custom_text: 'Welcome aboard',
    realm_can_invite_users_group: await groupId('role:administrators'),
    realm_can_create_public_channel_group: await groupId('role:moderators'),
  }
  await becomes(async () => {
    const now = await realm()
    return Object.fromEntries(Object.keys(wanted).map((name) => [name, now[name]]))
  }, wanted)
  const defaults = async () => (await realm()).realm_user_settings_defaults as Record<string, unknown>
  await becomes(async () => (await defaults()).enter_sends, true)
  await other.end()
  await here.end()
})

test('text that is not saved yet stays in its field while another setting changes', async () => {
  const here = await openOrganization()
  const { page } = here
  await section(page, 'Rules')
  const days = page.getByLabel('Delete messages after days')
  await days.fill('90')
  const receipts = page.getByLabel('Show who has read a message')
  const wasChecked = await receipts.isChecked()
  await receipts.evaluate((box: HTMLInputElement) => box.click()) // the field keeps the focus
  await page.waitForFunction(() => document.body.textContent.includes('Saved.'))
  await becomes(() => receipts.isChecked(), !wasChecked)
  assert.equal(await days.inputValue(), '90')
  await here.end()
})

test('groups, folders, fields, linkifiers, playgrounds, domains and emoji are added, changed and deleted', async () => {
  const here = await openOrganization('Groups')
  const { page } = here
  const add = async (button: string, values: Record<string, string>) => {
    await page.getByRole('button', { name: button }).click()
    for (const [label, value] of Object.entries(values))
      await dialog(page).getByLabel(label, { exact: true }).fill(value)
    await save(page)
  }
  await add('New group', { Name: 'divers', Description: 'Under water' })
  await page.getByRole('button', { name: 'Members: divers' }).click()
  await dialog(page).getByLabel('Add people').fill('ben')
  await dialog(page).getByLabel('Add people').press('Enter')
  await examineAll(page, 'members of a group')
  await page.setViewportSize(WIDE)
  await save(page)
  await page.getByText('2 members').waitFor()
  await page.getByRole('button', { name: 'Permissions: divers' }).click()
  await dialog(page).getByLabel('Mention this group').selectOption('Members and above')
  await dialog(page).getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: 'Deactivate: divers' }).click()
  await dialog(page).getByRole('button', { name: 'Deactivate' }).click()
  await page.getByRole('button', { name: 'Activate again: divers' }).waitFor()

  await section(page, 'Channels and folders')
  await add('New folder', { Name: 'Machines' })
  await page.getByRole('button', { name: 'Edit Machines' }).click()
  await dialog(page).getByLabel('Name', { exact: true }).fill('Engines')
  await save(page)
  await page.getByText('Engines').waitFor()
  await page.getByRole('button', { name: 'Add a channel' }).click()
  await dialog(page).getByLabel('Channel').selectOption('#ops')
  await save(page)
  await page.getByRole('button', { name: 'Delete #ops' }).waitFor()

  await section(page, 'Profile fields')
  await page.getByRole('button', { name: 'New field' }).click()
  await dialog(page).getByLabel('Name', { exact: true }).fill('Shift')
  await dialog(page).getByLabel('Kind').selectOption('Choice')
  await dialog(page).getByLabel('Options of a choice').fill('day\nnight')
  await dialog(page).getByLabel('People change it themselves').check()
  await save(page)
  await add('New field', { Name: 'Boat' })
  await page.getByRole('button', { name: 'To the top: Boat' }).click()
  await page.getByRole('button', { name: 'To the top: Shift' }).waitFor()
  await page.evaluate(() => {
    location.hash = '#settings/profile'
  })
  await page.getByLabel('Shift').selectOption('night')
  await saved(page)
  await page.getByLabel('Menu').click()
  await page.getByRole('link', { name: 'Organization' }).click()

  await section(page, 'Linkifiers')
  await add('New linkifier', { Pattern: '#(?P<id>[0-9]+)', Address: 'https://tickets.example.org/{id}' })
  await page.getByRole('button', { name: /^Edit/ }).click()
  await dialog(page).getByLabel('Address', { exact: true }).fill('https://t.example.org/{id}')
  await save(page)
  await page.getByText('https://t.example.org/{id}').waitFor()

  await section(page, 'Playgrounds')
  await add('New playground', {
    ...{ Name: 'Sand', 'Language of the code': 'Python', Address: 'https://p.example.org/?code={code}' },
  })
  await remove(page, 'Sand (Python)')
  await page.getByText('No playgrounds.').waitFor()

  await section(page, 'Domains')
  await add('New domain', { Domain: 'example.org' })
  await page.getByRole('button', { name: 'Edit example.org' }).click()
  await dialog(page).getByLabel('Subdomains, too').check()
  await save(page)
  await page.getByText('Subdomains, too').waitFor()
  await remove(page, 'example.org')
  await page.getByText('No domains.').waitFor()

  await section(page, 'Emoji')
  const picture = await page.evaluate(async () => {
    const canvas = new OffscreenCanvas(20, 20)
    canvas.getContext('2d')!.fillRect(0, 0, 20, 20)
    return [...new Uint8Array(await (await canvas.convertToBlob({ type: 'image/png' })).arrayBuffer())]
  })
  await page.getByLabel('Name of the new emoji').fill('anchor_own')
  await page
    .getByLabel('Picture', { exact: true })
    .setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: Buffer.from(picture) })
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByText(':anchor_own:').waitFor()
  await remove(page, ':anchor_own:')
  await page.getByText('No emoji of your own.').waitFor()

  const { user_groups: groups } = await get('/user_groups', { include_deactivated_groups: 'true' })
  const divers = groups.find(({ name }: { name: string }) => name === 'divers')
  assert.deepEqual([divers.members.length, divers.deactivated], [2, true])
  assert.equal(divers.can_mention_group, await groupId('role:members'))
  const { channel_folders: folders } = await get('/channel_folders')
  assert.deepEqual(
    folders.map(({ name }: { name: string }) => name),
    ['Engines'],
  )
  await here.end()
})

test('an export is made and downloaded; bots of others are managed', async () => {
  const { user_id: botId } = await house.post('/bots', { full_name: 'Tide Bot', short_name: 'tide' }, ben)
  const here = await openOrganization('Exports')
  const { page } = here
  await page.getByRole('button', { name: 'Make an export' }).click()
  const download = page.getByRole('link', { name: 'Download' })
  while (!(await download.isVisible())) {
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.waitForTimeout(500)
  }
  const path = await download.getAttribute('href')
  assert.equal(await page.evaluate(async (to) => (await fetch(to!)).status, path), 200)
  await examineAll(page, 'exports')
  await page.setViewportSize(WIDE)
  await section(page, 'Bots')
  await page.getByText('of Ben Becker').waitFor()
  await page.getByRole('button', { name: 'Deactivate: Tide Bot' }).click()
  await dialog(page).getByRole('button', { name: 'Deactivate' }).click()
  await page.getByText('deactivated', { exact: true }).waitFor()
  assert.equal((await get(`/users/${botId}`)).user.is_active, false)
  await here.end()
})
