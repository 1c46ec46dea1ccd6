/** Shrinks large pictures before the upload. This also removes metadata about place and camera. */

const SIDE_PX_MAX = 2560 // sharp on a large screen
const QUALITY = 0.85
const KINDS: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/webp'])

/** Null if the file is not such a picture, is small enough, or cannot be read by the browser: it is sent unchanged. */
export async function shrink(file: File): Promise<File | null> {
  if (!KINDS.has(file.type)) return null
  const picture = await createImageBitmap(file).catch(() => null) // rotated as its metadata says
  if (picture === null) return null
  try {
    const scale = SIDE_PX_MAX / Math.max(picture.width, picture.height)
    if (scale >= 1) return null
    const canvas = new OffscreenCanvas(Math.round(picture.width * scale), Math.round(picture.height * scale))
    const context = canvas.getContext('2d')
    if (context === null) return null
    context.drawImage(picture, 0, 0, canvas.width, canvas.height)
    const bytes = await canvas.convertToBlob({ type: file.type, quality: QUALITY })
    return new File([bytes], file.name, { type: bytes.type })
  } finally {
    picture.close()
  }
}
