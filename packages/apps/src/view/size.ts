/** The size of the page's content, for hosts that adapt the frame to it. */

/** Calls `changed` with the size immediately and whenever it changes, at most once per frame. Returns a function that stops it. */
export const watchSize = (
  changed: (size: { readonly width: number; readonly height: number }) => void
): (() => void) => {
  let last = ""
  let frame = 0
  const measure = (): void => {
    const { height, width } = document.documentElement.getBoundingClientRect()
    const size = { width: Math.ceil(width), height: Math.ceil(height) }
    const text = `${size.width} ${size.height}`
    if (text === last) return
    last = text
    changed(size)
  }
  const observer = new ResizeObserver(() => {
    cancelAnimationFrame(frame)
    frame = requestAnimationFrame(measure)
  })
  observer.observe(document.documentElement)
  return () => {
    observer.disconnect()
    cancelAnimationFrame(frame)
  }
}
