/** Uploaded files. Contract sections 1.2 (media) and 3.9, rows E130 to E133. */

import { emptyReply, streamReply } from '../../http/reply.ts'
import { etagOf, httpDate, isSameForRange, judgeRead } from '../../http/request/conditions.ts'
import { badRequest, type ChatError, notFound } from '../base/error.ts'
import type { Request } from '../pipeline/declaration.ts'
import { failureReply, raw } from '../pipeline/envelope.ts'
import { integer } from '../pipeline/parameters.ts'
import { deleteUpload, receiveUpload, UPLOAD_BYTES_MAX } from '../realm/messages/upload-receive.ts'
import { sendUpload, type UploadedFile } from '../realm/messages/upload-send.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'
import { asPathId } from '../realm/model/upload-path.ts'
import { attachmentView, findUpload } from '../realm/objects/upload-claims.ts'
import { UPLOAD_CACHING } from '../realm/objects/upload-serving.ts'
import { isDeactivated } from '../realm/objects/users.ts'
import { type AnyDeclaration, declare, declareOpen, type Services } from './declare.ts'

/** Four segments of a path below `/user_uploads/`. */
const PATH = '/:realm_id_str/:spread/:secret/:filename'
/** Some clients take everything after the realm for one file name and escape its slashes. */
const ESCAPED = '/:realm_id_str/:spread'
type PathSegments = Readonly<Record<string, string>>

const pathIdOf = ({ realm_id_str, spread, secret, filename }: PathSegments): string | null =>
  asPathId([realm_id_str, spread, secret, filename].filter((part) => part !== undefined).join('/'))

/** Files that do not exist and files that the caller cannot read get the same answer. */
const noSuchFile = (): ChatError => notFound('File not found')

export const uploadDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/user_uploads',
    who: 'account',
    fileBytesMax: UPLOAD_BYTES_MAX,
    handle: async ({ realm, me, file, check }) => {
      if (file === undefined) throw badRequest('You must specify a file to upload')
      const upload = await receiveUpload(realm, me, { name: file.fileName ?? '', content: file.content, check })
      const url = `/user_uploads/${upload.path}`
      return { url, uri: url, filename: upload.name }
    },
  }),
  ...[PATH, ESCAPED].map((path) =>
    declare({
      method: 'GET',
      path: `/user_uploads${path}`,
      who: 'account',
      handle: ({ realm, me, path, uploadUrls }) => {
        const upload = findUpload(realm, me, pathIdOf(path as PathSegments) ?? '')
        if (upload === undefined) throw noSuchFile()
        return { url: uploadUrls.sign(upload.path, me.id, realm.clock.now()) }
      },
    }),
  ),
  declare({
    method: 'GET',
    path: '/attachments',
    who: 'account',
    handle: ({ realm, me }) => ({
      attachments: realm.store.uploads.ofOwner(me.id).map((upload) => attachmentView(realm, upload)),
      upload_space_used: realm.store.uploads.total().bytes,
    }),
  }),
  declare({
    method: 'DELETE',
    path: '/attachments/:attachment_id',
    who: 'account',
    segments: { attachment_id: integer() },
    handle: async ({ realm, me, path }) => {
      await deleteUpload(realm, me, path.attachment_id)
      return {}
    },
  }),
]

/** Throws 404 once the account or the organization is deactivated. */
function expectSigner(realm: Realm, userId: number): User {
  const user = realm.state.user.get(userId)
  if (user === undefined || !user.isActive || isDeactivated(realm)) throw noSuchFile()
  return user
}

type AnyRequest = Pick<Request<Services, unknown>, 'realm' | 'exchange' | 'check' | 'log'>

function fileAnswer({ realm, exchange, check, log }: AnyRequest, upload: UploadedFile | undefined, download = false) {
  if (upload === undefined) throw noSuchFile()
  const isHead = exchange.method === 'HEAD'
  const validators = { etag: etagOf(upload.path), timeS: Math.floor(upload.time) }
  const validating = { etag: validators.etag, 'last-modified': httpDate(validators.timeS) }
  const verdict = judgeRead(
    {
      ifMatch: exchange.header('if-match'),
      ifNoneMatch: exchange.header('if-none-match'),
      ifModifiedSince: exchange.header('if-modified-since'),
      ifUnmodifiedSince: exchange.header('if-unmodified-since'),
    },
    validators,
  )
  if (verdict !== 'proceed') return raw(emptyReply(verdict, { ...validating, 'cache-control': UPLOAD_CACHING }))
  const isRange = !isHead && isSameForRange(exchange.header('if-range'), validators) // RFC 9110 section 14.2: ranges apply to GET only
  const range = isRange ? exchange.header('range') : undefined
  const { status, headers, chunks } = sendUpload(realm, upload, { range, download, isHead, check })
  const { 'content-type': type = 'application/octet-stream', ...others } = headers
  const onFailure = (error: unknown) => {
    failureReply(error, log) // only for its log line: the answer has already begun
    exchange.cut()
  }
  return raw(streamReply(status, chunks, type, { ...others, ...validating }, onFailure))
}

/** Serves files, outside the base path. The rights are those of the caller, or of the account for which a URL was signed. */
export const uploadMediaDeclarations: readonly AnyDeclaration[] = [
  ...['/user_uploads', '/user_uploads/download'].map((prefix) =>
    declareOpen({
      method: 'GET',
      path: prefix + PATH,
      who: 'anyone',
      isMedia: true,
      handle: (request) => {
        const { realm, me, path } = request
        const upload = findUpload(realm, me, pathIdOf(path as PathSegments) ?? '')
        return fileAnswer(request, upload, prefix.endsWith('download'))
      },
    }),
  ),
  declareOpen({
    method: 'GET',
    path: `/user_uploads/temporary/:terms/:mac${PATH}`,
    who: 'nobody',
    isMedia: true,
    handle: (request) => {
      const { realm, path, uploadUrls, exports, exchange, log } = request
      const { terms, mac, ...rest } = path as PathSegments
      const signed = uploadUrls.open(`${terms}/${mac}/${pathIdOf(rest) ?? ''}`, realm.clock.now())
      if (signed === null) throw noSuchFile()
      const { pathId, userId } = signed
      const signer = expectSigner(realm, userId)
      const check = () => {
        request.check()
        expectSigner(realm, userId)
      }
      const file = findUpload(realm, signer, pathId) ?? exports.fileAt(signer, pathId)
      return fileAnswer({ realm, exchange, log, check }, file)
    },
  }),
]
