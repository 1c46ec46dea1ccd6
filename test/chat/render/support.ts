import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CompiledLinkifier } from '../../../firmware/chat/render/linkifiers.ts'
import type { Names, RenderSettings } from '../../../firmware/chat/render/names.ts'
import { type Rendered, render } from '../../../firmware/chat/render/render.ts'
import { foreignFetches } from '../support/foreign-hosts.ts'

const USERS = [
  { id: 7, fullName: 'Zoe', isActive: true },
  { id: 31, fullName: 'King Hamlet', isActive: true },
  { id: 32, fullName: 'Gone', isActive: false },
]
const GROUPS = [
  { id: 17, name: 'support', deactivated: false },
  { id: 18, name: 'former', deactivated: true },
]
const UPLOADS = new Map([
  ['2/ab/x/photo.png', { contentType: 'image/png', width: 640, height: 480 }],
  ['2/ab/x/film.mp4', { contentType: 'video/mp4' }],
  ['2/ab/x/song.mp3', { contentType: 'audio/mpeg' }],
  ['2/ab/x/paper.pdf', { contentType: 'application/pdf' }],
])

export const names: Names = {
  userById: (id) => USERS.find((user) => user.id === id),
  userByName: (name) => USERS.find((user) => user.fullName.toLowerCase() === name.toLowerCase()),
  group: (name) => GROUPS.find((group) => group.name === name.toLowerCase()),
  channel: (name) => ({ ch: { id: 9 }, 'Zulip updates': { id: 14 } })[name],
  newestMessage: (channelId, topic) => (channelId === 9 && topic === 'topic' ? 214 : undefined),
  emoji: (name) => (name === 'green_tick' ? '/user_avatars/2/emoji/images/1.png' : undefined),
  upload: (pathId) => UPLOADS.get(pathId),
}

export const settings: RenderSettings = {
  realmUrl: 'http://zulip.testserver',
  translateEmoticons: false,
  imagePreviews: true,
  externalPreviews: true,
  codeLanguage: '',
  emptyTopicName: 'general chat',
  linkifiers: [
    new CompiledLinkifier({ pattern: '#(?P<id>[0-9]+)', urlTemplate: 'https://trac.example.com/ticket/{id}' }),
    new CompiledLinkifier({
      pattern: '(?P<org>[a-z]+)#(?P<id>[0-9]+)',
      urlTemplate: 'https://git.example.com/{org}/{id}',
    }),
  ],
}

export function rendered(text: string, changes: Partial<RenderSettings> = {}): Rendered {
  return render(text, names, { ...settings, ...changes })
}

/** With pictures of other hosts, as upstream. Fails if the same text names one of them to fetch where they are not shown. */
export function html(text: string, changes: Partial<RenderSettings> = {}): string {
  const output = rendered(text, changes).html
  if (foreignFetches(output).length > 0)
    assert.deepEqual(foreignFetches(rendered(text, { ...changes, externalPreviews: false }).html), [], text)
  return output
}

export interface Case {
  name: string
  input: string
  expected_output: string
  translate_emoticons?: boolean
}

/** Upstream's fixtures, or null where they are not installed; with CI=true they must be. */
export function upstreamCases(): { regular_tests: Case[]; linkify_tests: [string, string, string][] } | null {
  const root = process.env.COFFER_VECTORS ?? new URL('../../../../shared/vectors', import.meta.url).pathname
  const path = join(root, 'zulip', 'markdown_cases.json')
  if (!existsSync(path) && process.env.CI !== 'true') return null
  return JSON.parse(readFileSync(path, 'utf8'))
}
