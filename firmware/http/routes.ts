/** Maps a request path to the matching endpoints. RFC 3986 section 3.3; contract sections 1.1 and 1.7. */

/**
 * A segment of a pattern may be a parameter: `:name`, or `:name` followed by literal text as in `/keys/:prefix*` and `/users/:ns~`. A
 * literal segment takes precedence over parameters. A segment that fits both `:ns~` and `:id` matches both, the more specific first, and
 * the caller takes the first match that offers the method. A segment that fits only `:id` also matches `:ns~`, as malformed.
 */
export interface Match<T> {
  value: T
  /** Percent-decoded. */
  params: Record<string, string>
  /** True if a segment has a bad encoding or lacks the pattern's literal text. */
  malformed: boolean
}

export interface Routes<T> {
  at(pattern: string, make: () => T): T
  /** Best match first; empty for an unknown path. */
  match(path: string): Match<T>[]
}

interface Node<T> {
  value: T | undefined
  literals: Map<string, Node<T>>
  parameters: Parameter<T>[] // those with literal text first
}

interface Parameter<T> {
  name: string
  suffix: string
  node: Node<T>
}

interface Segment {
  text: string
  malformed: boolean
}

interface Found {
  name: string
  value: string
  before: Found | undefined
}

/** Deeper than any endpoint. Longer paths are unknown without a search. */
const SEGMENTS_MAX = 16

export function createRoutes<T>(): Routes<T> {
  const root = emptyNode<T>()

  function at(pattern: string, make: () => T): T {
    let node = root
    for (const segment of pattern.split('/').slice(1)) node = child(node, segment)
    node.value ??= make()
    return node.value
  }

  function match(path: string): Match<T>[] {
    const raw = path.split('/', SEGMENTS_MAX + 2)
    if (raw[0] !== '' || raw.length > SEGMENTS_MAX + 1) return []
    const matches: Match<T>[] = []
    walk(root, raw.slice(1).map(decode), 0, undefined, false, matches)
    // The sort is stable: equally well-formed matches keep the more specific first.
    return matches.sort((a, b) => Number(a.malformed) - Number(b.malformed))
  }

  return { at, match }
}

function walk<T>(
  node: Node<T>,
  segments: readonly Segment[],
  index: number,
  found: Found | undefined,
  malformed: boolean,
  matches: Match<T>[],
): void {
  const segment = segments[index]
  if (segment === undefined) {
    if (node.value !== undefined) matches.push({ value: node.value, params: paramsOf(found), malformed })
    return
  }
  const literal = segment.malformed ? undefined : node.literals.get(segment.text)
  if (literal !== undefined) walk(literal, segments, index + 1, found, malformed, matches)
  if (literal !== undefined || segment.text === '') return
  for (const { name, suffix, node: next } of node.parameters) {
    const fits = segment.text.endsWith(suffix)
    const value = fits ? segment.text.slice(0, segment.text.length - suffix.length) : segment.text
    const isMalformed = malformed || segment.malformed || !fits
    walk(next, segments, index + 1, { name, value, before: found }, isMalformed, matches)
  }
}

function paramsOf(found: Found | undefined): Record<string, string> {
  if (found === undefined) return {}
  const params = paramsOf(found.before)
  params[found.name] = found.value
  return params
}

/** Decodes once. Text with a bad encoding stays as it is and matches no ID, since IDs have no `%`. */
function decode(raw: string): Segment {
  if (!raw.includes('%')) return { text: raw, malformed: false }
  try {
    return { text: decodeURIComponent(raw), malformed: false }
  } catch {
    return { text: raw, malformed: true }
  }
}

function child<T>(node: Node<T>, segment: string): Node<T> {
  const parameter = /^:(\w+)(.*)$/.exec(segment)
  if (parameter === null) {
    const next = node.literals.get(segment) ?? emptyNode<T>()
    node.literals.set(segment, next)
    return next
  }
  const [, name = '', suffix = ''] = parameter
  const known = node.parameters.find((other) => other.name === name && other.suffix === suffix)
  if (known !== undefined) return known.node
  if (node.parameters.some((other) => other.suffix === suffix))
    throw new Error(`Two names for one parameter: ${segment}`)
  const next = emptyNode<T>()
  node.parameters.push({ name, suffix, node: next })
  node.parameters.sort((a, b) => b.suffix.length - a.suffix.length)
  return next
}

const emptyNode = <T>(): Node<T> => ({ value: undefined, literals: new Map(), parameters: [] })
