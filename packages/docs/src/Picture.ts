/** Sizes of pictures, so that a page reserves their place before they load. */
import { readFileSync } from "node:fs"

/** Width and height of a picture in pixels. */
export interface PictureSize {
  readonly width: number
  readonly height: number
}

/** Returns the size of a PNG or SVG file, or `undefined` if an SVG file does not state it. */
export const sizeOf = (file: string): PictureSize | undefined => {
  const bytes = readFileSync(file)
  if (file.endsWith(".png")) return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  const [, width, height] = /^<svg[^>]*? viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(bytes.toString("utf8")) ?? []
  return width === undefined || height === undefined ? undefined : { width: Number(width), height: Number(height) }
}
