/** Serves the API documents: OpenAPI, RAML and a web page, generated from the declarations on first use. */

import { hash } from 'node:crypto'
import { stringify } from 'yaml'
import { STATES } from '../../base/states.ts'
import { type Declaration, endpoint } from '../pipeline/endpoint.ts'
import { type ApiInfo, openApiDocument } from './openapi.ts'
import { documentPage } from './page.ts'
import { ramlDocument } from './raml.ts'

/** Endpoints with full paths, because the page is outside the API's base path. */
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
  const page = once(() => documentPage(model(), info.others))
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

/** Also for readers of YAML 1.1: quotes `on`, and uses no anchors, which some readers do not support. */
const toYaml = (value: unknown): string =>
  stringify(value, { schema: 'yaml-1.1', aliasDuplicateObjects: false, lineWidth: 120 })

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
