/** Reads request bodies as their declarations say. */

import { matchSchema, parseText, readText } from '../../base/json.ts'
import { RequestError } from '../../http/errors.ts'
import { JSON_TYPE } from '../../http/reply.ts'
import { type BodyReader, wipeBody } from '../../http/request/body.ts'
import type { Terms } from '../../http/request/body-rate.ts'
import { createLongJsonReader } from '../../http/request/long-json.ts'
import { mediaType } from '../../http/request/media.ts'
import { parseMultipart } from '../../http/request/multipart.ts'
import type { Held } from '../../http/request/reservations.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import type { Body, LongJsonBody } from './endpoint.ts'

const MULTIPART_TYPE = 'multipart/form-data'

export interface Bodies {
  /** Returns the parsed body. Throws `invalid` and errors of the reader. */
  read(body: Body<unknown>, bytesMax: number, exchange: Exchange, terms: BodyTerms): Promise<unknown>
}

export interface BodyTerms extends Terms {
  /**
   * Counts what a handler keeps while it waits for the pool. The bytes of long JSON are not counted: the handler wipes them once the pool
   * has them, which counts them itself.
   */
  readonly held: Held
  /** Called for JSON that fails its schema. */
  readonly onMismatch: () => void
}

type WholeBody = Exclude<Body<unknown>, LongJsonBody<unknown> | { kind: 'stream' }>

export function createBodies(reader: BodyReader): Bodies {
  async function readWhole(
    body: WholeBody,
    bytesMax: number,
    exchange: Exchange,
    terms: BodyTerms,
    contentType: string,
  ): Promise<unknown> {
    const bytes = await reader.read(exchange.openBody(), bytesMax, terms, terms.held)
    terms.check() // first, so that unauthorized callers learn nothing about the content
    const type = mediaType(contentType)
    if (body.kind === 'raw') return body.parse(bytes, type)
    try {
      if (body.kind === 'jsonOrMultipart' && type === MULTIPART_TYPE)
        return body.parts(await parseMultipart(bytes, contentType))
      const text = readText(bytes)
      wipeBody(bytes) // wiped before parsing makes another copy
      const value = parseText(text)
      try {
        return matchSchema(body.schema, value, 'body')
      } catch (error) {
        terms.onMismatch()
        throw error
      }
    } finally {
      wipeBody(bytes)
    }
  }

  async function readLongJson(body: LongJsonBody<unknown>, exchange: Exchange, terms: Terms): Promise<unknown> {
    const parser = createLongJsonReader(body.names, body.long)
    try {
      await reader.feed(exchange.openBody(), body.bytesMax, parser.take, terms)
      terms.check()
      const { fields, bytes } = parser.end()
      return body.value(matchSchema(body.schema, fields, 'body'), bytes)
    } catch (error) {
      parser.wipe()
      throw error
    }
  }

  return {
    read(body, bytesMax, exchange, terms) {
      const contentType = exchange.header('content-type') ?? ''
      if (body.kind === 'longJson') return readLongJson(body, exchange, terms)
      if (body.kind !== 'stream') return readWhole(body, bytesMax, exchange, terms, contentType)
      return Promise.resolve(body.open(reader.stream(exchange.openBody, terms), contentType))
    },
  }
}

export function checkType(body: Body<unknown>, type: string): void {
  const types = bodyTypes(body)
  if (!types.includes(type)) throw new RequestError(415, `The content type must be ${types.join(' or ')}`)
}

function bodyTypes(body: Body<unknown>): readonly string[] {
  switch (body.kind) {
    case 'json':
    case 'longJson':
      return [JSON_TYPE]
    case 'jsonOrMultipart':
      return [JSON_TYPE, MULTIPART_TYPE]
    case 'raw':
    case 'stream':
      return body.types
  }
}
