/** Slack's incoming webhooks: text, blocks, attachments, in Slack's markup. Contract section 3.5.2. */

import { z } from 'zod'
import { AnomalousPayload, type Integration, parse } from './integration.ts'
import { fromMrkdwn } from './mrkdwn.ts'
import { cleaned, inLine, labeled, literal, safeUrl } from './text.ts'

const TEXT_CHARACTERS_MAX = 3000 // Slack's bound for the text of a section

const TEXT = z.union([
  z.string(),
  z.object({ type: z.string().optional(), text: z.string() }).transform((object) => object),
])

const IMAGE = { image_url: z.string().nullish(), alt_text: z.string().nullish() }

const BLOCK = z.object({
  type: z.string(),
  text: TEXT.nullish(),
  fields: z.array(TEXT).nullish(),
  accessory: z.object({ type: z.string(), ...IMAGE }).nullish(),
  elements: z.array(z.object({ type: z.string(), text: z.unknown().optional(), ...IMAGE })).nullish(),
  title: TEXT.nullish(),
  ...IMAGE,
})

const ATTACHMENT = z.object({
  blocks: z.array(BLOCK).nullish(),
  fallback: z.string().nullish(),
  pretext: z.string().nullish(),
  author_name: z.string().nullish(),
  author_link: z.string().nullish(),
  title: z.string().nullish(),
  title_link: z.string().nullish(),
  text: z.string().nullish(),
  fields: z
    .array(
      z.object({
        title: z.string().nullish(),
        value: z.union([z.string(), z.number(), z.boolean()]).nullish(),
      }),
    )
    .nullish(),
  image_url: z.string().nullish(),
  thumb_url: z.string().nullish(),
  footer: z.string().nullish(),
  ts: z.union([z.string(), z.number()]).nullish(),
})

const PAYLOAD = z.object({
  text: z.string().nullish(),
  channel: z.string().nullish(),
  blocks: z.array(BLOCK).nullish(),
  attachments: z.array(ATTACHMENT).nullish(),
})

type Text = z.infer<typeof TEXT>
type Block = z.infer<typeof BLOCK>
type Attachment = z.infer<typeof ATTACHMENT>

export const slackIncoming: Integration = {
  name: 'slack_incoming',
  displayName: 'Slack',
  events: null,
  mentions: 'kept',
  read({ payload }) {
    const { text, channel, blocks, attachments } = parse(PAYLOAD, payload)
    // If there are blocks, `text` is only Slack's text for notifications.
    const body = (blocks ?? []).map(blockText).filter((part) => part !== '')
    const parts = [
      ...(body.length > 0 ? body : [fromMrkdwn(text ?? '')]),
      ...(attachments ?? []).map(attachmentText),
    ].filter((part) => part.trim() !== '')
    if (parts.length === 0) throw new AnomalousPayload()
    const topic = channel?.replace(/^[#@]/, '')
    return { event: null, messages: [{ ...(topic !== undefined && { topic }), text: parts.join('\n\n') }] }
  },
}

const markup = (text: Text): string =>
  typeof text !== 'string' && text.type === 'plain_text'
    ? cleaned(text.text)
        .split('\n')
        .map((line) => literal(line, TEXT_CHARACTERS_MAX))
        .join('\n')
    : fromMrkdwn(rawOf(text))

const rawOf = (text: Text): string => (typeof text === 'string' ? text : text.text)

function blockText(block: Block): string {
  switch (block.type) {
    case 'header':
      return block.text == null ? '' : `**${inLine(rawOf(block.text))}**`
    case 'section':
      return [
        ...(block.text == null ? [] : [markup(block.text)]),
        ...(block.fields ?? []).map(markup),
        ...(block.accessory?.type === 'image' ? [imageLink(block.accessory)] : []),
      ]
        .filter((part) => part !== '')
        .join('\n')
    case 'context':
      return (block.elements ?? [])
        .map((element) =>
          element.type === 'image'
            ? imageLink(element)
            : typeof element.text === 'string'
              ? markup({ type: element.type, text: element.text })
              : '',
        )
        .filter((part) => part !== '')
        .join(' ')
    case 'divider':
      return '---'
    case 'image':
      return imageLink({ ...block, alt_text: block.title == null ? block.alt_text : rawOf(block.title) })
    default:
      return ''
  }
}

function imageLink(image: { image_url?: string | null | undefined; alt_text?: string | null | undefined }): string {
  const url = safeUrl(image.image_url)
  return url === null ? '' : `[${literal(image.alt_text || 'image')}](${url})`
}

function attachmentText(attachment: Attachment): string {
  const { blocks, pretext, author_name: author, title, text, fields, footer, ts } = attachment
  if (blocks != null && blocks.length > 0) return blocks.map(blockText).join('\n\n')
  const lines = [
    pretext ? fromMrkdwn(pretext) : '',
    author ? labeled(author, attachment.author_link) : '',
    title ? `**${labeled(title, attachment.title_link)}**` : '',
    text ? fromMrkdwn(text) : '',
    ...(fields ?? []).map(({ title: name, value }) =>
      [name ? `**${inLine(name)}**` : '', value == null ? '' : fromMrkdwn(String(value))]
        .filter((part) => part !== '')
        .join(': '),
    ),
    imageLink({ image_url: attachment.image_url ?? attachment.thumb_url }),
    [footer ? fromMrkdwn(footer) : '', timeOf(ts)].filter((part) => part !== '').join(' · '),
  ].filter((line) => line.trim() !== '')
  return lines.length > 0 ? lines.join('\n') : fromMrkdwn(attachment.fallback ?? '')
}

/** Accepts Unix time as a number or a text. */
function timeOf(ts: string | number | null | undefined): string {
  const seconds = Number(ts)
  if (ts == null || ts === '' || !(seconds > 0 && seconds < 1e11)) return ''
  return `<time:${new Date(Math.floor(seconds) * 1000).toISOString().replace('.000', '')}>`
}
