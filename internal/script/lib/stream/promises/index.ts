import stream from "node:stream";
export default (stream as any).promises;
