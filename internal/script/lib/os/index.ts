// node:os.
const info = () => JSON.parse(__plumb.host("os.info"));

export default {
  EOL: __plumb.host("os.platform") === "win32" ? "\r\n" : "\n",
  devNull: __plumb.host("os.platform") === "win32" ? "\\\\.\\nul" : "/dev/null",
  platform: () => __plumb.host("os.platform"),
  type: () => ({ linux: "Linux", darwin: "Darwin", win32: "Windows_NT", freebsd: "FreeBSD" })[__plumb.host("os.platform") as string] ?? "Unknown",
  arch: () => __plumb.host("os.arch"),
  machine: () => ({ x64: "x86_64", arm64: "arm64" })[__plumb.host("os.arch") as string] ?? __plumb.host("os.arch"),
  endianness: () => "LE",
  homedir: () => {
    const env = __plumb.env();
    return (__plumb.host("os.platform") === "win32" ? env.USERPROFILE : env.HOME) || info().home;
  },
  tmpdir: () => {
    const env = __plumb.env();
    if (__plumb.host("os.platform") === "win32") return env.TEMP || env.TMP || `${env.SystemRoot || env.windir}\\temp`;
    const dir = env.TMPDIR || env.TMP || env.TEMP || "/tmp";
    return dir.length > 1 && dir.endsWith("/") ? dir.slice(0, -1) : dir;
  },
  hostname: () => info().hostname,
  release: () => info().release,
  version: () => info().release,
  uptime: () => info().uptime,
  loadavg: () => [0, 0, 0],
  totalmem: () => info().memory,
  freemem: () => info().memory,
  availableParallelism: () => info().cpus,
  cpus: () => Array.from({ length: info().cpus }, () => ({ model: "unknown", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } })),
  networkInterfaces: () => ({}),
  userInfo: () => ({ uid: info().uid, gid: info().gid, username: info().user, homedir: info().home, shell: __plumb.env().SHELL ?? null }),
  getPriority: () => 0,
  setPriority() {},
  constants: { signals: { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGABRT: 6, SIGKILL: 9, SIGSEGV: 11, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15 }, errno: {}, priority: {} },
};
