type Oops = {
  a: string

export default [];
