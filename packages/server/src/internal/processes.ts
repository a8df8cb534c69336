/** Which process a node is, for other processes of its machine: they see that it is dead, where others can only wait for its silence. */
import { readFileSync, readlinkSync } from "node:fs"

/**
 * Where numbers of processes mean the same: a boot of a kernel, and the namespace in it. The containers of a machine have namespaces of
 * their own. Undefined where the system does not say.
 */
export const machine = ((): string | undefined => {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()
    return `${boot}/${readlinkSync("/proc/self/ns/pid").replaceAll(/\D/g, "")}`
  } catch {
    return undefined
  }
})()

/** Whether a process of this machine has ended. False where its number is in use again, and while it is frozen. */
export const hasEnded = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    // The process of another user is not to be signalled, but is there.
    return !(error instanceof Error && "code" in error && error.code === "EPERM")
  }
}
