import { CofferError } from '../../base/error.ts'

export function readQuery(text: string): Record<string, string> {
  const query: Record<string, string> = Object.create(null)
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const end = pair.indexOf('=')
    const [name, value] = end === -1 ? [pair, ''] : [pair.slice(0, end), pair.slice(end + 1)]
    query[decodeQuery(name)] = decodeQuery(value)
  }
  return query
}

function decodeQuery(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new CofferError('invalid', 'query: bad percent-encoding')
  }
}
