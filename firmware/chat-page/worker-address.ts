/** Addresses of the page's workers. The content security policy of the page permits this policy of Trusted Types only. */

/** Set by tools/build-chat-page.ts: a path with a hash of the content. */
declare const CODE_WORKER: string

const SERVICE_WORKER = '/service-worker.js'

interface ScriptPolicy {
  createScriptURL(url: string): string
}

interface PolicyFactory {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): ScriptPolicy
}

const factory = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes
const policy = factory?.createPolicy('coffer', {
  createScriptURL(url) {
    if (url !== SERVICE_WORKER && url !== CODE_WORKER) throw new TypeError(`not a script of this page: ${url}`)
    return url
  },
})

const trusted = (path: string): string => policy?.createScriptURL(path) ?? path

export const serviceWorkerAddress = (): string => trusted(SERVICE_WORKER)
export const codeWorkerAddress = (): string => trusted(CODE_WORKER)
