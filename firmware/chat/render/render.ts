/**
 * Renders a message to HTML, by section 6 of the contract: lines, blocks, inline markup, previews, HTML. Every stage takes linear time for
 * every text.
 */

import { bareLinks } from './bare-links.ts'
import { finishCode, parseBlocks } from './blocks.ts'
import { codeSpans } from './code-spans.ts'
import { element } from './element.ts'
import { emoticons, namedEmoji, unicodeEmoji } from './emoji.ts'
import { emphasis } from './emphasis.ts'
import { layOut, serialize } from './html.ts'
import { around, InlineMatches, type Pattern, pattern } from './inline.ts'
import { splitLines } from './lines.ts'
import { LinkifierWork, linkified } from './linkifiers.ts'
import { links } from './links.ts'
import { formulas, MathRenderer } from './math.ts'
import { addMedia, imageOf, type Media } from './media.ts'
import { channelLinks, groupMentions, type Mentions, messageLinks, topicLinks, userMentions } from './mentions.ts'
import type { Names, RenderSettings } from './names.ts'
import { times } from './times.ts'

/** Results that sending and editing need in addition to the HTML: contract 6.4. */
export interface Rendered extends Mentions, Media {
  html: string
  /** The text in which alert words count: everything except fences of code and formulas. */
  alertText: string
}

/** @throws RenderedTooLong */
export function render(text: string, names: Names, settings: RenderSettings): Rendered {
  const mentions: Mentions = { users: new Set(), groups: new Set(), channelWildcard: false, topicWildcard: false }
  if (text.trim() === '') return { html: '', alertText: '', ...mentions, hasLink: false, hasImage: false, uploads: [] }
  const formulasLeft = new MathRenderer()
  const { lines, fenced } = splitLines(text, settings.codeLanguage, formulasLeft)
  const root = parseBlocks(lines, fenced)
  finishCode(root)
  new InlineMatches(patternsOf(names, settings, mentions, formulasLeft)).fillTree(root)
  layOut(root)
  const media = addMedia(root, names, settings)
  const prose = [lines, ...fenced.map((part) => (part.kind === 'html' ? [] : part.lines))]
  return { html: serialize(root), alertText: prose.flat().join('\n'), ...mentions, ...media }
}

/** Order determines precedence. */
function patternsOf(
  names: Names,
  settings: RenderSettings,
  mentions: Mentions,
  formulasLeft: MathRenderer,
): readonly Pattern[] {
  const work = new LinkifierWork()
  return [
    codeSpans,
    pattern(/\*\*\*(?!\s)([^*^\n]+)(?<!\s)\*\*\*/g, '***', ([, inner], found) => {
      const strong = element('strong')
      strong.children.push(element('em', {}, found.later(inner!)))
      return strong
    }),
    userMentions(names, mentions),
    formulas(formulasLeft),
    messageLinks(names, settings),
    topicLinks(names, settings),
    channelLinks(names),
    times,
    groupMentions(names, mentions),
    links(settings, imageOf(names, settings)),
    bareLinks(settings),
    ...settings.linkifiers.map((linkifier) => linkified(linkifier, settings.realmUrl, work)),
    pattern(/\*\*([^\n]+?)\*\*/g, '**', around('strong')),
    emphasis,
    pattern(/(?<!~)~~([^~\n]+)~~(?!~)/g, '~~', around('del')),
    namedEmoji(names),
    ...(settings.translateEmoticons ? [emoticons] : []),
    pattern(/\n/g, '\n', () => element('br')),
    unicodeEmoji,
  ]
}
