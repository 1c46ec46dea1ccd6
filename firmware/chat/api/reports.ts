/** Reporting a message to moderators. Contract section 3.2, row E25; 11.6 for the two paths. */

import { integer, oneOf, prose } from '../pipeline/parameters.ts'
import { REPORT_TYPES, type ReportType, reportMessage } from '../realm/organization/settings/report.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const report = (path: string): AnyDeclaration =>
  declare({
    method: 'POST',
    path,
    who: 'account',
    segments: { message_id: integer() },
    parameters: {
      report_type: oneOf(...(Object.keys(REPORT_TYPES) as ReportType[])),
      description: prose().default(''),
    },
    handle: ({ realm, me, path, input }) => {
      reportMessage(realm, me, path.message_id, input.report_type, input.description)
      return {}
    },
  })

export const reportDeclarations: readonly AnyDeclaration[] = [
  report('/messages/:message_id/report'),
  report('/message/:message_id/report'),
]
