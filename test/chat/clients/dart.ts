/**
 * Evaluates the decoders that Dart's json_serializable has generated: functions `_$XFromJson` of one expression, and maps of enumerations.
 * The generated subset of Dart is small: casts, members, `map`, `??`, conditions, constructors with named arguments. Casts throw as in Dart.
 */

/** Values of JSON, and what constructors make of them. */
export type Value = unknown
type Scope = ReadonlyMap<string, Value>
type Expression = (scope: Scope) => Value
/** A constructor or function that is not generated but written by hand in Dart. */
export type Native = (...values: Value[]) => Value

export interface Decoders {
  /** Names of all generated decoders, as `StreamMessage`. */
  readonly names: readonly string[]
  /** Names of the decoders that have returned a value. */
  readonly used: ReadonlySet<string>
  decode(name: string, json: Value): Value
  /** The maps of enumerations by name, as `MessageFlag`: values of JSON. */
  readonly enumerations: ReadonlyMap<string, readonly Value[]>
}

interface Type {
  name: string
  isNullable: boolean
}

const TOKEN = /\s+|\/\/.*|'((?:[^'\\]|\\.)*)'|-?\d+(?:\.\d+)?|[A-Za-z_$][\w$]*|\?\.|\?\?|\.\.|=>|==|[^\s]/gy
const DECODER = /^(\w+)\s+_\$(\w+)FromJson\(\s*Map<String, dynamic> json,?\s*\)\s*(=>|\{)/gm
const ENUMERATION = /^const _\$(\w+)EnumMap = \{([^}]*)\};/gm

/** `?.` on null ends the whole chain of members. */
const ENDED = Symbol('ended')

export function readDecoders(sources: readonly string[], natives: Readonly<Record<string, Native>>): Decoders {
  const bodies = new Map<string, Expression>()
  const used = new Set<string>()
  const enumerations = new Map<string, readonly Value[]>()
  for (const source of sources)
    for (const [, name, entries] of source.matchAll(ENUMERATION))
      enumerations.set(
        name!,
        [...entries!.matchAll(/[\w.]+:\s+('[^']*'|-?\d+|null)/g)].map(([, value]) =>
          JSON.parse(value!.replaceAll("'", '"')),
        ),
      )

  const decode = (name: string, json: Value): Value => {
    const body = bodies.get(name)
    if (body === undefined) throw new Error(`${name} has no decoder`)
    const value = body(new Map([['json', cast(json, { name: 'Map', isNullable: false }, name)]]))
    used.add(name)
    return value
  }
  const call = (name: string, values: Value[], named: ReadonlyMap<string, Value>): Value => {
    const native = natives[name]
    if (native !== undefined) return native(...values)
    const decoder = /^(?:_\$)?(\w+?)\.?FromJson$/i.exec(name)?.[1]
    if (decoder !== undefined && bodies.has(decoder)) return decode(decoder, values[0])
    if (/^\$enumDecode(Nullable)?$/.test(name)) return enumerated(name, values, named)
    if (name === '$checkKeys') return checkKeys(values[0] as Record<string, Value>, named)
    if (/^[A-Z]\w*$/.test(name)) return Object.fromEntries([...named, ...values.map((value, n) => [`${n}`, value])])
    throw new Error(`${name} is written by hand: give its meaning`)
  }
  for (const source of sources)
    for (const match of source.matchAll(DECODER)) {
      const text = source.slice(match.index + match[0].length)
      const end = match[3] === '=>' ? text.indexOf(';\n') : text.indexOf('\n}')
      bodies.set(match[2]!, parse(text.slice(0, end), match[2]!, match[3] === '{', call, enumerations))
    }
  return { names: [...bodies.keys()], used, decode, enumerations }
}

function enumerated(name: string, [values, source]: Value[], named: ReadonlyMap<string, Value>): Value {
  if (source === null || source === undefined) {
    if (name.endsWith('Nullable')) return null
    throw new Error('an enumeration lacks its value')
  }
  if ((values as readonly Value[]).includes(source) || named.has('unknownValue')) return source
  throw new Error(`${JSON.stringify(source)} is none of ${JSON.stringify(values)}`)
}

function checkKeys(json: Record<string, Value>, named: ReadonlyMap<string, Value>): null {
  for (const key of named.get('requiredKeys') as string[]) if (!(key in json)) throw new Error(`${key} is missing`)
  for (const key of named.get('disallowNullValues') as string[])
    if (key in json && json[key] === null) throw new Error(`${key} is null`)
  return null
}

/** As Dart's `as`. */
function cast(value: Value, { name, isNullable }: Type, where: string): Value {
  if (value === null || value === undefined) {
    if (isNullable) return null
    throw new Error(`${where} is ${value === null ? 'null' : 'missing'}, not ${name}`)
  }
  const isObject = typeof value === 'object' && !Array.isArray(value)
  const isRight: Record<string, boolean> = {
    String: typeof value === 'string',
    bool: typeof value === 'boolean',
    num: typeof value === 'number',
    int: Number.isInteger(value),
    List: Array.isArray(value),
    Map: isObject,
    Object: true,
  }
  if (isRight[name] === undefined) throw new Error(`no meaning of the type ${name}`)
  if (!isRight[name]) throw new Error(`${where} is ${JSON.stringify(value)}, not ${name}`)
  return value
}

function parse(
  text: string,
  decoder: string,
  isBlock: boolean,
  call: (name: string, values: Value[], named: ReadonlyMap<string, Value>) => Value,
  enumerations: ReadonlyMap<string, readonly Value[]>,
): Expression {
  const tokens = [...text.matchAll(TOKEN)].map(([token]) => token).filter((token) => !/^(?:\s|\/\/)/.test(token))
  let at = 0
  const next = () => tokens[at++] ?? ''
  const isNext = (token: string) => tokens[at] === token
  const skip = (token: string): boolean => isNext(token) && ++at > 0
  const expect = (token: string): void => {
    if (!skip(token)) throw new Error(`${decoder}: expected ${token} before ${tokens.slice(at, at + 8).join(' ')}`)
  }

  function type(): Type {
    const name = next()
    if (skip('<')) {
      do type()
      while (skip(','))
      expect('>')
    }
    return { name, isNullable: skip('?') }
  }

  function expression(): Expression {
    const condition = orElse()
    if (!skip('?')) return condition
    const yes = expression()
    expect(':')
    const no = expression()
    return (scope) => (condition(scope) === true ? yes(scope) : no(scope))
  }

  function orElse(): Expression {
    const left = equality()
    if (!skip('??')) return left
    const right = orElse()
    return (scope) => left(scope) ?? right(scope)
  }

  function equality(): Expression {
    const left = casted()
    if (!skip('==')) return left
    const right = casted()
    return (scope) => (left(scope) ?? null) === (right(scope) ?? null)
  }

  function casted(): Expression {
    const from = at
    let value = postfix()
    while (isNext('as')) {
      const where = `${decoder}: ${tokens.slice(from, at).join('')}`
      at++
      const to = type()
      const inner = value
      value = (scope) => cast(inner(scope), to, where)
    }
    return value
  }

  function postfix(): Expression {
    let value = primary()
    for (;;) {
      const inner = value
      if (skip('[')) {
        const key = expression()
        expect(']')
        value = (scope) => (inner(scope) as Record<string, Value>)[key(scope) as string]
      } else if (isNext('.') || isNext('?.')) {
        const isSafe = next() === '?.'
        const name = next()
        const parameters = list('(', ')')
        value = (scope) => {
          const on = inner(scope)
          if (on === ENDED) return ENDED
          return on === null || on === undefined ? missing(on, isSafe, name) : method(on, name, parameters, scope)
        }
      } else if (skip('..')) {
        const name = next()
        expect('=')
        const member = expression()
        value = (scope) => ({ ...(inner(scope) as object), [name]: member(scope) })
      } else
        return (scope) => {
          const result = inner(scope)
          return result === ENDED ? null : result
        }
    }
  }

  function missing(on: Value, isSafe: boolean, name: string): Value {
    if (!isSafe) throw new Error(`${decoder}: .${name} of ${on}`)
    return ENDED
  }

  function method(on: Value, name: string, parameters: Expression[], scope: Scope): Value {
    if (name === 'toInt' || name === 'toDouble' || name === 'toList' || name === 'toSet') return on
    if (name !== 'map') throw new Error(`${decoder}: no meaning of .${name}`)
    const each = parameters[0]!(scope) as Native
    if (Array.isArray(on)) return on.map((one) => each(one))
    return Object.fromEntries(Object.entries(on as object).map(([key, one]) => each(key, one) as [string, Value]))
  }

  function primary(): Expression {
    skip('const')
    if (isNext('(')) return isFunction() ? lambda() : grouped()
    if (isNext('[')) {
      const members = list('[', ']')
      return (scope) => members.map((member) => member(scope))
    }
    const token = next()
    if (/^['\d-]/.test(token)) {
      const literal = JSON.parse(token.replaceAll("'", '"')) as Value
      return () => literal
    }
    if (token === 'null' || token === 'true' || token === 'false') return () => JSON.parse(token) as Value
    return named(token)
  }

  /** A variable, the map of an enumeration, or a call. */
  function named(first: string): Expression {
    const enumeration = /^_\$(\w+)EnumMap$/.exec(first)?.[1]
    if (enumeration !== undefined) return () => enumerations.get(enumeration)
    let name = first
    if (/^(?:[A-Z]|int$)/.test(first) && !isNext('(')) while (skip('.')) name += `.${next()}`
    if (isNext('<')) {
      at++
      do type()
      while (skip(','))
      expect('>')
    }
    if (!isNext('(')) return (scope) => (scope.has(name) ? scope.get(name) : name) // a constant of an enumeration stands for itself
    const labels = new Map<number, string>()
    const parameters = list('(', ')', labels)
    // `const XConverter().fromJson(value)`
    if (/^[A-Z]\w*Converter$/.test(name) && skip('.')) {
      const of = `${name}.${next()}`
      if (!isNext('(')) return () => of
      return calling(of, list('(', ')'), new Map())
    }
    if (name === 'MapEntry') return (scope) => parameters.map((parameter) => parameter(scope))
    return calling(name, parameters, labels)
  }

  function calling(name: string, parameters: Expression[], labels: ReadonlyMap<number, string>): Expression {
    return (scope) => {
      const values: Value[] = []
      const named = new Map<string, Value>()
      for (const [n, parameter] of parameters.entries()) {
        const label = labels.get(n)
        if (label === undefined) values.push(parameter(scope))
        else named.set(label, parameter(scope))
      }
      return call(name, values, named)
    }
  }

  function list(open: string, close: string, labels?: Map<number, string>): Expression[] {
    expect(open)
    const members: Expression[] = []
    while (!skip(close)) {
      if (labels !== undefined && tokens[at + 1] === ':' && /^\w+$/.test(tokens[at]!)) {
        labels.set(members.length, next())
        at++
      }
      members.push(expression())
      if (!isNext(close)) expect(',')
    }
    return members
  }

  function isFunction(): boolean {
    const end = tokens.indexOf(')', at)
    return tokens[end + 1] === '=>' && tokens.slice(at + 1, end).every((token) => /^[\w,]+$/.test(token))
  }

  function lambda(): Expression {
    const end = tokens.indexOf(')', at)
    const names = tokens.slice(at + 1, end).filter((token) => token !== ',')
    at = end + 2
    const body = expression()
    return (scope) =>
      (...values: Value[]) =>
        body(new Map([...scope, ...names.map((name, n): [string, Value] => [name, values[n]])]))
  }

  function grouped(): Expression {
    expect('(')
    const inner = expression()
    expect(')')
    return inner
  }

  /** `$checkKeys(...); return ...;` */
  function block(): Expression {
    const steps: Expression[] = []
    while (at < tokens.length) {
      skip('return')
      steps.push(expression())
      skip(';')
    }
    return (scope) => steps.map((step) => step(scope)).at(-1)
  }

  const body = isBlock ? block() : expression()
  if (at < tokens.length && !isNext(';'))
    throw new Error(`${decoder}: cannot read ${tokens.slice(at, at + 8).join(' ')}`)
  return body
}
