import type { CertificateFacts } from '../../client/certificate.ts'
import { time } from '../format.ts'
import { Fact } from '../parts/frame.tsx'
import * as words from '../words.ts'

export function CertificateList({ facts }: { facts: readonly CertificateFacts[] }) {
  const [leaf] = facts
  if (leaf === undefined) return <p>{words.unknown}</p>
  return (
    <dl class="facts">
      <Fact name={words.certificateSubject}>
        {leaf.subject} {facts.length > 1 && <small>{words.certificateChain(facts.length - 1)}</small>}
      </Fact>
      <Fact name={words.certificateIssuer}>{leaf.issuer}</Fact>
      <Fact name={words.certificateNames}>{leaf.names.join(', ') || words.none}</Fact>
      <Fact name={words.certificateValid}>{words.certificateValidText(time(leaf.notBefore), time(leaf.notAfter))}</Fact>
      <Fact mono name={words.certificateSerial}>
        {leaf.serial}
      </Fact>
      <Fact mono name={words.certificateFingerprint}>
        {leaf.fingerprint}
      </Fact>
      <Fact mono name={words.certificateKey}>
        {leaf.keyFingerprint}
      </Fact>
    </dl>
  )
}
