// @test long 60
/** Writing on the page: reactions, quotes, edits, deletion, completion, preview, polls and tasks, times to come. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { ask } from '../support/process.ts'
import { visitTopic } from './browser.ts'
import { openHouse } from './house.ts'
import { textNonces, until } from './stored.ts'

const { browser, house } = await openHouse()

const box = (page: Page) => page.getByRole('textbox', { name: /^Message/ })
const article = (page: Page, text: string) => page.getByRole('article').filter({ hasText: text })

const open = (topic: string, window: Parameters<typeof visitTopic>[3] = {}) => visitTopic(browser, house, topic, window)

const messageOf = async (id: number) =>
  (await ask(house.port, 'GET', `/messages/${id}`, { as: house.owner, form: { apply_markdown: 'false' } })).body.message

test('reactions are chosen by name, counted, and taken back, on both sides', async () => {
  const { id } = await house.say('reactions', 'a text to react to')
  const one = await open('reactions')
  const other = await open('reactions')
  await article(one.page, 'a text to react to').hover()
  await one.page.getByRole('button', { name: 'Add a reaction' }).click()
  await one.page.getByLabel('Find an emoji').fill('octo')
  await one.page.getByRole('button', { name: 'octopus' }).click()
  const chip = (page: Page) => page.getByRole('button', { name: 'octopus: Olivia Owner' })
  await chip(other.page).waitFor()
  assert.equal(await chip(other.page).getAttribute('aria-pressed'), 'true')
  assert.equal((await messageOf(id)).reactions[0].emoji_name, 'octopus')
  await chip(other.page).click()
  await chip(one.page).waitFor({ state: 'detached' })
  assert.deepEqual((await messageOf(id)).reactions, [])
  await one.end()
  await other.end()
})

test('a message is edited in its place; an edit of another device is not written over, and the text stays', async () => {
  const { id } = await house.say('edits', 'the frist text')
  const here = await open('edits', { statuses: [400, 409, 412, 417] })
  const { page } = here
  const field = page.getByRole('textbox', { name: 'Text of the message' })
  const begin = async (text: string) => {
    await article(page, text).hover()
    await page.getByRole('button', { name: 'Edit' }).click()
  }
  await begin('the frist text')
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Text of the message')
  await becomes(() => field.inputValue(), 'the frist text')
  await examineAll(page, 'an edit')
  await page.setViewportSize({ width: 1280, height: 860 })
  await field.fill('the first text')
  await field.press('Control+Enter')
  await article(page, 'the first text').getByText('(edited)').waitFor()
  assert.equal((await messageOf(id)).content, 'the first text')
  await begin('the first text')
  await becomes(() => field.inputValue(), 'the first text')
  await field.fill('the first text, here')
  await ask(house.port, 'PATCH', `/messages/${id}`, { as: house.owner, form: { content: 'the first text, elsewhere' } })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Not saved').waitFor()
  assert.equal(await field.inputValue(), 'the first text, here')
  assert.equal((await messageOf(id)).content, 'the first text, elsewhere')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await article(page, 'the first text, elsewhere').waitFor()
  await here.end()
})

test('a text kept from an edit that was left open is not written over what another device has saved meanwhile', async () => {
  const { id } = await house.say('leaving', 'words at first')
  const here = await open('leaving', { statuses: [400] })
  const { page } = here
  const field = page.getByRole('textbox', { name: 'Text of the message' })
  const begin = async (text: string) => {
    await article(page, text).hover()
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await field.and(page.locator(':enabled')).waitFor() // once its text is loaded
  }
  const elsewhere = async (content: string) => {
    await ask(house.port, 'PATCH', `/messages/${id}`, { as: house.owner, form: { content } })
    await article(page, content).waitFor()
  }
  const leave = async () => {
    await page.getByRole('link', { name: 'Inbox' }).first().click()
    await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'leaving', level: 1 }).waitFor()
  }
  const refused = async (typed: string, saved: string) => {
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Not saved').waitFor()
    await page.getByText('has changed meanwhile').waitFor()
    assert.equal(await field.inputValue(), typed)
    assert.equal((await messageOf(id)).content, saved)
  }

  await begin('words at first')
  await until(async () => (await textNonces(page)).length === 1, 'the edit is not stored')
  const before = await textNonces(page)
  await field.fill('words, typed here')
  await until(async () => (await textNonces(page))[0] !== before[0], 'the typed text is not stored')
  await leave()
  await elsewhere('words, second')
  await begin('words, second')
  await refused('words, typed here', 'words, second')
  await page.reload()
  await begin('words, second')
  await refused('words, typed here', 'words, second')
  await page.getByRole('button', { name: 'Cancel' }).click()

  await begin('words, second')
  assert.equal(await field.inputValue(), 'words, second')
  await leave()
  await elsewhere('words, third')
  await begin('words, third')
  assert.equal(await field.inputValue(), 'words, third', 'a text that was not touched does not follow the message')
  await field.fill('words, last')
  await page.getByRole('button', { name: 'Save' }).click()
  await article(page, 'words, last').waitFor()
  assert.equal((await messageOf(id)).content, 'words, last')
  await here.end()
})

test('a quote names its author, links to the message, and keeps fences apart; a deleted message is gone', async () => {
  const content = 'look:\n```\ncode\n```'
  const { id } = await house.say('quotes', content)
  const here = await open('quotes')
  const { page } = here
  await box(page).fill('I agree.')
  await article(page, 'look:').hover()
  await page.getByRole('button', { name: 'Quote' }).click()
  await page.waitForFunction(() => document.querySelector('form.compose textarea') === document.activeElement)
  await becomes(async () => (await box(page).inputValue()).endsWith('````\n'), true)
  const text = await box(page).inputValue()
  assert.match(
    text,
    /^I agree\.\n\n@_\*\*Olivia Owner\|\d+\*\* \[said\]\(https:\/\/127\.0\.0\.1:\d+\/#narrow\/channel\/\d+-ops\/topic\/quotes\/near\/\d+\):\n````quote\n/,
  )
  assert.ok(text.endsWith(`\`\`\`\`quote\n${content}\n\`\`\`\`\n`), text)
  await box(page).press('Control+Enter')
  await page.locator('blockquote pre').getByText('code').waitFor()
  await article(page, 'look:').first().hover()
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.locator(`[data-id="${id}"]`).waitFor({ state: 'detached' })
  assert.equal(await messageOf(id), undefined)
  await here.end()
})

test('names of people, channels, topics and emoji are completed by keys, and the preview shows what they become', async () => {
  await house.say('a known topic', 'x')
  const here = await open('completion')
  const { page } = here
  const complete = async (typed: string, label: string) => {
    await box(page).pressSequentially(typed)
    await page.getByRole('main').getByRole('option', { name: label }).waitFor()
    await box(page).press('Enter')
  }
  await complete('@oli', 'Olivia Owner')
  await complete('#op', '#ops')
  await complete('#ops>kno', 'a known topic')
  await complete(':octop', ':octopus:')
  await becomes(() => box(page).inputValue(), '@**Olivia Owner** #**ops** #**ops>a known topic** :octopus: ')
  await box(page).fill('')
  await complete('/po', '/poll')
  await becomes(() => box(page).inputValue(), '/poll ')
  await box(page).fill('@oli')
  await box(page).press('End')
  await box(page).pressSequentially('v')
  await page.getByRole('main').getByRole('option').first().waitFor()
  await examineAll(page, 'completion')
  await page.setViewportSize({ width: 1280, height: 860 })
  await box(page).press('Escape')
  await page.getByRole('main').getByRole('option').first().waitFor({ state: 'detached' })
  await box(page).fill('**bold** @**Olivia Owner**')
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.getByRole('region', { name: 'Preview' }).locator('strong').waitFor()
  await page.getByRole('region', { name: 'Preview' }).locator('.user-mention').waitFor()
  await here.end()
})

test('polls are voted in and extended, tasks are done, on both sides', async () => {
  await house.say('widgets', '/poll When?\nMonday\nTuesday')
  await house.say('widgets', '/todo Drill\nSpare box: rack 4')
  const one = await open('widgets')
  const other = await open('widgets')
  await one.page.getByRole('button', { name: 'Monday: 0 votes' }).click()
  await other.page.getByRole('button', { name: 'Monday: 1 vote' }).waitFor()
  await other.page.getByLabel('New option').fill('Friday')
  await other.page.getByRole('group', { name: 'When?' }).getByRole('button', { name: 'Add' }).click()
  await one.page.getByRole('button', { name: 'Friday: 0 votes' }).click()
  await one.page.getByRole('button', { name: 'Monday: 1 vote' }).click()
  await other.page.getByRole('button', { name: 'Monday: 0 votes' }).waitFor()
  await other.page.getByRole('button', { name: 'Friday: 1 vote' }).waitFor()
  await one.page.getByLabel('Spare box').check()
  await other.page.waitForFunction(
    () => document.querySelector<HTMLInputElement>('.widget input[type=checkbox]')?.checked,
  )
  await examineAll(other.page, 'widgets')
  await one.end()
  await other.end()
})

test('a message is scheduled and another one remembered', async () => {
  const { id } = await house.say('later', 'to be remembered')
  const here = await open('later')
  const { page } = here
  await box(page).fill('said tomorrow')
  await page.getByRole('button', { name: 'Schedule' }).click()
  await examineAll(page, 'a time to come')
  await page.setViewportSize({ width: 1280, height: 860 })
  await page.getByLabel('When').fill('2099-01-02T09:00')
  await page.getByRole('dialog').getByRole('button', { name: 'Schedule' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await becomes(() => box(page).inputValue(), '')
  const { scheduled_messages: all } = (await ask(house.port, 'GET', '/scheduled_messages', { as: house.owner })).body
  assert.deepEqual(
    all.map(({ content, topic }: { content: string; topic: string }) => [content, topic]),
    [['said tomorrow', 'later']],
  )
  await article(page, 'to be remembered').hover()
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('button', { name: 'Remind me' }).click()
  await page.getByLabel('When').fill('2099-01-02T09:00')
  await page.getByRole('dialog').getByRole('button', { name: 'Set the reminder' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const { reminders } = (await ask(house.port, 'GET', '/reminders', { as: house.owner })).body
  assert.deepEqual(
    reminders.map((one: { reminder_target_message_id: number }) => one.reminder_target_message_id),
    [id],
  )
  await here.end()
})

test('by keys alone: from the box to a message, its reaction, and back', async () => {
  await house.say('keys', 'first of the keys')
  await house.say('keys', 'second of the keys')
  const here = await open('keys')
  const { page } = here
  await article(page, 'second of the keys').focus()
  await page.keyboard.press('ArrowUp')
  await page.waitForFunction(() => document.activeElement?.textContent?.includes('first of the keys'))
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByLabel('Find an emoji').waitFor()
  await page.waitForFunction(() => document.activeElement?.matches('.emoji-picker input'))
  await examineAll(page, 'the picker of emoji')
  await page.keyboard.press('Escape')
  await page.getByLabel('Find an emoji').waitFor({ state: 'detached' })
  await here.end()
})
