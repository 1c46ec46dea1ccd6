/** The API documents as endpoints: OpenAPI, RAML and a readable page, made from the declarations on first use. */

import type { Declaration } from './endpoint.ts'

export interface ApiInfo {
  title: string
  /** Of the software. */
  version: string
  vendor: string
}

export function documentDeclarations<S>(
  _declarations: readonly Declaration<S>[],
  _info: ApiInfo,
  _basePath: string,
): Declaration<S>[] {
  return []
}
