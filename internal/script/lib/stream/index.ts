// node:stream is the npm package readable-stream.
import stream from "readable-stream";
export default stream;
