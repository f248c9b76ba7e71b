"""The software and hardware that a task needs and a queue lacks."""

from __future__ import annotations

WORDS = {
    "cpu_is_exclusive": "the queue takes only tasks that ask for its CPU",
    "gpu_is_exclusive": "the queue takes only tasks that ask for its GPU",
    "no_hardware_published": "the queue does not describe its hardware",
    "no_such_cpu": "it has no CPU that the task asks for",
    "no_gpu": "it has no GPU",
    "no_gpu_report": "no worker node has reported its GPUs",
    "no_gpu_of_vendor": "it has no GPU of the vendor",
    "no_gpu_of_model": "it has no GPU of the model",
    "unwanted_gpu_model": "it has a GPU of an unwanted model",
    "no_gpu_of_microarchitecture": "it has no GPU of the microarchitecture",
    "gpu_vram": "it has a GPU with other vram than the task asks for",
    "gpu_version": "it has a GPU of another version than the task asks for",
    "gpu_driver_version": "it has a GPU of another driver_version than the task asks for",
    "not_published": "the queue does not publish its software (AUTO)",
    "not_published_for_hardware": "hardware and containers need published software (AUTO)",
    "no_release_named": "the task names no release to look for",
    "no_container": "the container is not available",
    "no_containers_nor_platform": "CVMFS is there, but neither containers nor the platform",
    "no_cvmfs": "no CVMFS",
    "no_cvmfs_nor_containers": "no CVMFS and no containers",
    "no_cvmfs_nor_tag": "no CVMFS and no tag of that release",
}
"""By the engine's name for it."""
