/** Elements, classes and attributes of messages that the page creates. */

/** Elements that are rendered unchanged, with their allowed classes. */
export const PLAIN: Readonly<Record<string, readonly string[]>> = {
  p: [],
  br: [],
  hr: [],
  ul: [],
  ol: [],
  li: [],
  blockquote: [],
  pre: [],
  code: [],
  table: [],
  thead: [],
  tbody: [],
  tr: [],
  strong: [],
  em: [],
  del: [],
  div: ['message_embed'],
  span: [
    'user-mention',
    'user-group-mention',
    'topic-mention',
    'channel-wildcard-mention',
    'silent',
    'tex-error',
    'highlight',
    'katex-display',
  ],
}

/** MathML Core as KaTeX writes it. Browsers lay it out without additional styles or fonts. */
export const MATH = new Set(
  'math semantics mrow mi mo mn ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr mtd mstyle mpadded mphantom menclose mglyph'.split(
    ' ',
  ),
)
export const MATH_ATTRIBUTES = new Set(
  'display mathvariant stretchy fence separator accent accentunder lspace rspace width height depth voffset linethickness displaystyle scriptlevel columnalign rowspacing columnspacing minsize maxsize symmetric form movablelimits largeop'.split(
    ' ',
  ),
)
