/** Icons that may be shown: those with other schemes than `https` and `data` are left out (spec 2025-11-25: basic, icons). */
import type { Icon } from "@effect-mcp/protocol/model/Icon"

const isSafe = ({ src }: Icon): boolean => /^(https|data):/i.test(src)

/** The same object unless it has an unsafe icon. */
export const withSafeIcons = <A extends { readonly icons?: ReadonlyArray<Icon> }>(item: A): A =>
  item.icons === undefined || item.icons.every(isSafe) ? item : { ...item, icons: item.icons.filter(isSafe) }
