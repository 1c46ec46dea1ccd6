/** Reports how a server is reached: its addresses, and with TLS its certificate. Nothing is sent to it. */

import type { Connector } from './connect.ts'
import { OutgoingError } from './error.ts'
import { readable } from './http.ts'
import { NAME_CHARACTERS_MAX, NAMES_MAX, type ProbeAnswer, type ProbeJob } from './link.ts'

const PROBE_MS_MAX = 40_000 // a name, a connection and a handshake, each to its bound, and a proxy

export async function probe(connector: Connector, job: ProbeJob, signal: AbortSignal): Promise<ProbeAnswer> {
  const answer: ProbeAnswer = { addresses: [] }
  try {
    await readable('it did not answer', PROBE_MS_MAX, signal, (limit) => ask(connector, job, limit, answer))
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error
    answer.problem = error.message
  }
  return answer
}

async function ask(connector: Connector, job: ProbeJob, signal: AbortSignal, answer: ProbeAnswer): Promise<void> {
  const usesProxy = job.tls && connector.usesProxy(job.host)
  if (!usesProxy) answer.addresses = (await connector.addressesOf(job, signal)).slice(0, NAMES_MAX)
  if (!job.tls) return void (await connector.connect(job, signal)).destroy()
  const socket = await connector.connectTls(job, signal, true)
  const { subject, subjectaltname, valid_to } = socket.getPeerCertificate()
  // Without alternative names the common name counts, as it does for Node's verification.
  const names = (subjectaltname ?? `${subject.CN}`).split(', ').map((name) => name.replace(/^(?:DNS|IP Address):/, ''))
  answer.tls = {
    version: socket.getProtocol() ?? '',
    names: names.filter((name) => name !== '' && name.length <= NAME_CHARACTERS_MAX).slice(0, NAMES_MAX),
    notAfter: new Date(valid_to).toISOString(),
  }
  const { authorized, authorizationError } = socket
  socket.destroy()
  if (!authorized) answer.problem = `its certificate is not accepted (${String(authorizationError)})`
}
