// node:tty: nothing is a terminal.
class Stream {
  isTTY = false;
}
export default { isatty: () => false, ReadStream: Stream, WriteStream: Stream };
