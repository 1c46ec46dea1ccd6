/** From a request path to the endpoints that may be meant. RFC 3986 section 3.3; contract sections 1.1 and 1.7. */

/**
 * A pattern is a path whose segments may be parameters: `:name`, or `:name` followed by literal text as in `/keys/:prefix*`
 * and `/users/:ns~`. A literal segment hides parameters in its place. A segment that fits both `:ns~` and `:id` may mean
 * either one: the more specific comes first and the caller takes the first that offers the method. A segment that fits
 * only `:id` may still be meant for `:ns~` but is malformed for it.
 */
export interface Match<T> {
  value: T
  /** Percent-decoded. */
  params: Record<string, string>
  /** A segment had a bad encoding, or lacks the literal text of its pattern. */
  malformed: boolean
}

export interface Routes<T> {
  /** The value at a pattern, made on first use. */
  at(pattern: string, make: () => T): T
  /** Best match first; empty when the path is unknown. */
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

/** A parameter on the way from the root, and those before it. */
interface Found {
  name: string
  value: string
  before: Found | undefined
}

/** Deeper than any endpoint; a longer path is unknown without being looked at. */
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
    // Stable: of two equally well-formed matches the more specific stays first.
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

/** Decodes once; text with a bad encoding stays as it is, and no ID can hold a `%`. */
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
