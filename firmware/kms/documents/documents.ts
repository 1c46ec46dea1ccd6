/** The API documents as endpoints: OpenAPI, RAML and a readable page, made from the declarations on first use. */

import { hash } from 'node:crypto'
import { stringify } from 'yaml'
import { STATES } from '../../base/states.ts'
import { type Declaration, endpoint } from '../pipeline/endpoint.ts'
import { type ApiInfo, openApiDocument } from './openapi.ts'
import { documentPage } from './page.ts'
import { ramlDocument } from './raml.ts'

/** With full paths: the page stands outside the base path of the API. */
export function documentDeclarations<S>(
  declarations: readonly Declaration<S>[],
  info: ApiInfo,
  basePath: string,
): Declaration<S>[] {
  const model = once(() => openApiDocument(declarations, info, basePath))
  const document = (path: string, type: string, summary: string, render: () => string): Declaration<S> => {
    const bytes = once(() => new TextEncoder().encode(render()))
    const version = once(() => hash('sha256', bytes()))
    return endpoint<S, unknown, unknown, unknown>({
      method: 'GET',
      path,
      summary,
      states: STATES,
      access: 'public',
      version,
      answers: { status: 200, types: [type] },
      handle: () => ({ status: 200, file: bytes(), type }),
    })
  }
  const page = once(() => documentPage(model()))
  return [
    document(`${basePath}/openapi.json`, 'application/json', 'OpenAPI 3.1', () => JSON.stringify(model(), null, 2)),
    document(`${basePath}/openapi.yaml`, 'application/yaml', 'OpenAPI 3.1 as YAML', () => toYaml(model())),
    document(
      `${basePath}/api.raml`,
      'application/raml+yaml',
      'RAML 1.0',
      () => `#%RAML 1.0\n${toYaml(ramlDocument(model()))}`,
    ),
    ...['/docs', '/docs/'].map((path) => document(path, 'text/html', 'Readable page', page)),
  ]
}

/** For readers of YAML 1.1 too: `on` is quoted; without anchors, which not every one of them follows. */
const toYaml = (value: unknown): string =>
  stringify(value, { schema: 'yaml-1.1', aliasDuplicateObjects: false, lineWidth: 120 })

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
